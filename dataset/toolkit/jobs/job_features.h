// What a job that converts each file by itself finds out about the features that its selection
// names: one that some files lack is nothing to report, one that all of them lack is an error.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/record_selection.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// What is known of the features of a file, as SelectionReport has it.
struct FileFeatures {
  bool any_taken = false;  // record: without one, nothing is known of `found`
  FeatureNames found = {};
  std::vector<std::string> present = {};
  Where::Seen seen = {};
};

// For another process of the same version; throws Error{corrupted} for other bytes.
std::string to_bytes(FileFeatures file);
FileFeatures file_features(std::string_view bytes);

class JobFeatures {
 public:
  explicit JobFeatures(RecordSelection selection) : selection_(std::move(selection)) {}

  void add(const FileFeatures& file);
  // Throws the errors and returns the notes of Where::require_possible() and require_found() for
  // all files together. If not all files of the job were added, or the selection has a fraction or
  // a limit, there are no errors.
  [[nodiscard]] std::string require_found_in_any(bool added_all) const;

 private:
  RecordSelection selection_;
  bool any_taken_ = false;
  FeatureNames found_;
  FirstNames present_;
};

}  // namespace recordpipe
