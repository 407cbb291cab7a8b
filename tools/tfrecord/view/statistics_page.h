// Writes the page of `tfrecord stats --html`: distributions of all features, sizes of the files,
// and a map of what is damaged in them. A single file, which loads nothing and has no script.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/record/damaged_region.h"
#include "recordpipe/toolkit/feature_statistics.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {

struct FileDamage {
  static constexpr size_t kMaxPlaces = 1000;

  DamageSkipped counts = {};
  std::vector<std::pair<uint64_t, uint64_t>> places = {};  // [begin, end), the first kMaxPlaces

  void add(const DamagedRegion& region);
};

struct SurveyedFile {
  std::string name = {};               // as printed in messages
  std::optional<uint64_t> bytes = {};  // as stored; unknown of streams and URLs
  bool is_compressed = false;          // then `places` are of its content, not of the file
  const FileDamage* damage = nullptr;  // null without damage
};

// `files` must not be empty.
void write_statistics_page(Output& out, const FeatureStatistics& all,
                           const std::vector<SurveyedFile>& files);

}  // namespace recordpipe
