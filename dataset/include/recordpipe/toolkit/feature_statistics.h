// Computes statistics of the values of all features, by feature name (value_statistics.h).
//
//     StatisticsPart part;  // for a part of the records, on any thread
//     for (...) part.add(message);
//     part.settle();
//     all.merge(part);      // FeatureStatistics, in the order of the records
//
// FeatureStatistics uses at most about 32 MiB for any input. If there are many features with many
// values, it uses coarser quantiles (distribution.h) and keeps fewer frequent values. A part uses
// up to 7 times the size of its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/toolkit/value_statistics.h"

namespace recordpipe {

// Statistics of all features and feature lists by name. Keeps only the names that occur first: at
// most kMaxNames of features and of feature lists each, and kMaxNameBytes in total.
template <typename Values>
struct StatisticsOf {
  static constexpr size_t kMaxNames = 200;
  static constexpr size_t kMaxNameBytes = size_t{4} << 20;

  uint64_t records = 0;
  SizeStatistics record_sizes = {};
  uint64_t with_features = 0;  // number of messages that have features (MessageView)
  uint64_t sequences = 0;      // number of SequenceExamples
  uint64_t example_lists = 0;  // number of ExampleListWithContexts
  UndecidedRecords undecided = {};
  std::map<std::string, Values, std::less<>> features = {};
  std::map<std::string, Values, std::less<>> feature_lists = {};
  size_t name_bytes = 0;  // of the kept names
  uint64_t left_out = 0;  // occurrences of features and feature lists whose names were not kept
  DamageSkipped skipped = {};
};

struct StatisticsPart : StatisticsOf<ValuesPart> {
  // Adds the features named in `only`, which must be sorted; all features if it is empty. `size` is
  // the record's size in bytes.
  void add(const MessageView& message, size_t size, std::span<const std::string> only = {});
  // Must be called after the last add() and before merge().
  void settle();
};

struct FeatureStatistics : StatisticsOf<ValueStatistics> {
  // Adds a single record directly, without a StatisticsPart: for records too large for a part.
  void add(const MessageView& message, size_t size, std::span<const std::string> only = {});
  void merge(const StatisticsPart& part);
  // The statistics of other records, which come after these.
  void merge(const FeatureStatistics& other);

 private:
  friend struct StatisticsArchive;  // writes and reads the members
  template <typename Part>
  void merge_part(const Part& part);
  void make_room();

  size_t max_numbers_ = Distribution::kMaxBuckets;  // limit for each distribution
  size_t most_frequent_ = FrequentValues<float>::kMax;
};

// Number of frequent values, histogram bins, and quantiles in the output.
inline constexpr size_t kFrequentShown = 5;
inline constexpr size_t kHistogramBins = 16;
inline const std::vector<double> kQuantilesShown = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

// A JSON object on one line: {"records", "record_sizes": {"min", "max", "mean", "sd", "quantiles",
// ...}, "with_features", "features": {NAME: {"kind", "records", "share", "values", "int64", "float"
// or "bytes": {"count", "min", "max", "mean", "sd", "quantiles", ...}}}, "feature_lists",
// "left_out", "undecided": {"records", "first"}, "regions_skipped", "bytes_skipped",
// "compressed_bytes_skipped"}; "record_sizes" and the last six where there are any. Infinities are
// written as in json_text.h.
std::string statistics_as_json(const FeatureStatistics& statistics);

}  // namespace recordpipe
