// What values all the features of records have, by name (value_statistics.h).
//
//     StatisticsPart part;  // of some records, on any thread
//     for (...) part.add(message);
//     part.settle();
//     all.merge(part);      // FeatureStatistics, in the order of the records
//
// FeatureStatistics takes at most about 32 MiB, whatever the records are: quantiles become coarser
// (distribution.h), and fewer frequent values are kept, when there are many features with many
// values. A part takes up to seven times as much as its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/value_statistics.h"

namespace recordpipe {

// Of all features by name; those of feature lists beside them. Only the names that came first: so
// many of each, and so many bytes of all.
template <typename Values>
struct StatisticsOf {
  static constexpr size_t kMostNames = 200;
  static constexpr size_t kMostNameBytes = size_t{4} << 20;

  uint64_t records = 0;
  uint64_t with_features = 0;  // records that are Examples or SequenceExamples
  uint64_t sequences = 0;      // of them, SequenceExamples
  std::map<std::string, Values, std::less<>> features = {};
  std::map<std::string, Values, std::less<>> feature_lists = {};
  size_t name_bytes = 0;  // of the names that were kept
  uint64_t left_out = 0;  // features of records whose names were not kept
};

struct StatisticsPart : StatisticsOf<ValuesPart> {
  // The features named in `only`, which is sorted; all where it is empty.
  void add(const MessageView& message, std::span<const std::string> only = {});
  // After the last record, before it is merged.
  void settle();
};

struct FeatureStatistics : StatisticsOf<ValueStatistics> {
  // The same of one record where it lies, for one that is too large for a part.
  void add(const MessageView& message, std::span<const std::string> only = {});
  void merge(const StatisticsPart& part);

 private:
  void make_room();

  size_t most_numbers_ = Distribution::kMostBuckets;  // in each distribution
  size_t most_frequent_ = FrequentValues<float>::kMost;
};

// What is written of a feature's values.
inline constexpr size_t kFrequentShown = 5;
inline constexpr size_t kHistogramBins = 16;
inline const std::vector<double> kQuantilesShown = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

// One object on one line: {"records", "with_features", "features": {NAME: {"kind", "records",
// "share", "values", "int64", "float" or "bytes": {"count", "min", "max", "mean", "sd",
// "quantiles", ...}}}, "feature_lists"}. Infinities are written as in json_text.h.
std::string statistics_as_json(const FeatureStatistics& statistics);

}  // namespace recordpipe
