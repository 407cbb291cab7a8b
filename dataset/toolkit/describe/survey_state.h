// Surveys of parts of the files, in processes or on machines of their own, and their merging.
//
//     std::string state = statistics_state(work, {path}, names, options);  // of each file
//     StatisticsMerge merge(names, where);
//     merge.add(state);                                                    // in the files' order
//     FeatureStatistics all = merge.finish(tell);
//
// The result is that of one survey of all files (survey.h), with two exceptions: means and standard
// deviations may differ in the last digits, because the sums are added in another order, and of
// values that are too many to be counted exactly, others may be counted. It depends on the files
// only, not on who surveyed which.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/toolkit/describe/survey.h"

namespace recordpipe {

// Both return bytes for the class below. They throw as infer_schema() and compute_statistics() do,
// except for features that no record has: the merge does.
std::string schema_state(const FileWork& work, const std::vector<std::string>& paths,
                         SurveyOptions options);
std::string statistics_state(const FileWork& work, const std::vector<std::string>& paths,
                             const FeatureNames& names, SurveyOptions options);

// Both add() throw Error{corrupted} for other bytes. `where`, `names`: as for the parts. Both
// finish() call tell() with the note of Where::require_possible(), if there is a `where`; it may be
// empty.
using Tell = std::function<void(const std::string& note)>;

class SchemaMerge {
 public:
  explicit SchemaMerge(std::optional<Where> where) : where_(std::move(where)) {}
  void add(std::string_view state);
  // Throws the errors of Where::require_possible().
  InferredSchema finish(const Tell& tell);

 private:
  std::optional<Where> where_;
  InferredSchema schema_;
};

class StatisticsMerge {
 public:
  StatisticsMerge(FeatureNames names, std::optional<Where> where)
      : names_(std::move(names)), where_(std::move(where)) {}
  void add(std::string_view state);
  // Throws the errors of Where::require_possible() and require_found().
  FeatureStatistics finish(const Tell& tell);

 private:
  FeatureNames names_;
  std::optional<Where> where_;
  FeatureStatistics statistics_;
  FeatureNames found_;
  FeatureNames present_;
};

}  // namespace recordpipe
