#include "dataset/toolkit/describe/survey_state.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dataset/toolkit/state_bytes.h"

namespace recordpipe {

// Describes the members of statistics: to a StateSaver, or to a StateLoader, which checks what
// other functions rely on.
struct StatisticsArchive {
  static void archive(auto& state, InferredFeature& feature) {
    for (uint64_t& count : feature.by_kind) state.number(count);
    state.number(feature.min_values);
    state.number(feature.max_values);
    state.number(feature.is_text);
  }

  static void archive(auto& state, InferredFeatureList& list) {
    state.number(list.records);
    state.number(list.min_steps);
    state.number(list.max_steps);
    archive(state, list.step);
  }

  static void archive(auto& state, UndecidedRecords& undecided) {
    state.number(undecided.count);
    state.text(undecided.first);
  }

  static void archive(auto& state, InferredSchema& schema) {
    state.number(schema.records);
    for (uint64_t& count : schema.by_kind) state.number(count);
    archive(state, schema.undecided);
    state.number(schema.empty_records);
    state.number(schema.name_bytes);
    state.number(schema.left_out);
    archive(state, schema.skipped);
    const auto one = [&](auto& feature) { archive(state, feature); };
    archive_map(state, schema.features, one);
    archive_map(state, schema.feature_lists, one);
  }

  static void archive(auto& state, Distribution& distribution) {
    distribution.settle();
    state.number(distribution.max_exact_);
    state.number(distribution.max_buckets_);
    state.number(distribution.count_);
    state.number(distribution.below_);
    state.number(distribution.above_);
    state.number(distribution.least_);
    state.number(distribution.greatest_);
    state.number(distribution.dropped_bits_);
    state.require(distribution.dropped_bits_ >= 0 && distribution.dropped_bits_ < 64);
    uint64_t finite = 0;
    archive_vector(state, distribution.entries_, [&](auto& entry) {
      state.number(entry.key);
      state.number(entry.times);
      finite += entry.times;
    });
    state.require(finite + distribution.below_ + distribution.above_ == distribution.count_);
  }

  static void archive(auto& state, Moments& moments) {
    state.number(moments.count_);
    state.number(moments.mean_);
    state.number(moments.squares_);
  }

  template <typename Value>
  static void archive(auto& state, FrequentValues<Value>& frequent) {
    state.number(frequent.max_);
    state.number(frequent.exact_);
    archive_vector(state, frequent.entries_, [&](auto& entry) {
      if constexpr (std::is_arithmetic_v<Value>) {
        state.number(entry.value);
      } else {
        state.text(entry.value);
      }
      state.number(entry.times);
    });
  }

  template <typename Number>
  static void archive(auto& state, NumberStatistics<Number>& numbers) {
    state.number(numbers.count);
    state.number(numbers.nans);
    state.number(numbers.min);
    state.number(numbers.max);
    archive(state, numbers.moments);
    archive(state, numbers.distribution);
    state.require(numbers.count == numbers.nans + numbers.distribution.count());
    archive(state, numbers.frequent);
  }

  static void archive(auto& state, BytesStatistics& bytes) {
    bytes.settle();
    state.number(bytes.count);
    state.number(bytes.long_values);
    archive(state, bytes.lengths);
    state.require(bytes.count == bytes.lengths.distribution.count());
    archive(state, bytes.frequent);
  }

  static void archive(auto& state, SizeStatistics& sizes) {
    state.number(sizes.total);
    archive(state, sizes.moments);
    archive(state, sizes.distribution);
  }

  static void archive(auto& state, ValueStatistics& values) {
    archive(state, values.shape);
    archive(state, values.int64s);
    archive(state, values.floats);
    archive(state, values.bytes);
  }

  static void archive(auto& state, FeatureStatistics& statistics) {
    state.number(statistics.records);
    archive(state, statistics.record_sizes);
    state.require(statistics.records == statistics.record_sizes.distribution.count());
    state.number(statistics.with_features);
    state.number(statistics.sequences);
    state.number(statistics.example_lists);
    archive(state, statistics.undecided);
    state.number(statistics.name_bytes);
    state.number(statistics.left_out);
    archive(state, statistics.skipped);
    state.number(statistics.max_numbers_);
    state.number(statistics.most_frequent_);
    const auto one = [&](auto& values) { archive(state, values); };
    archive_map(state, statistics.features, one);
    archive_map(state, statistics.feature_lists, one);
  }

  static void archive(auto& state, DamageSkipped& skipped) {
    state.number(skipped.regions);
    state.number(skipped.bytes);
    state.number(skipped.compressed_bytes);
  }

  static void archive(auto& state, Where::Seen& seen) { archive_seen(state, seen); }
};

namespace {

// Names for the message of an error.
constexpr size_t kMaxPresent = 1000;

Where::Seen seen_of(const SurveyOptions& options) {
  const std::optional<Where>& where = options.filter.where();
  return where ? where->seen() : Where::Seen();
}

template <typename... Members>
std::string saved(Members&... members) {
  StateSaver state;
  (StatisticsArchive::archive(state, members), ...);
  return state.take();
}

}  // namespace

std::string schema_state(const FileWork& work, const std::vector<std::string>& paths,
                         SurveyOptions options) {
  InferredSchema schema = survey_schema(work, paths, options);
  Where::Seen seen = seen_of(options);
  return saved(seen, schema);
}

std::string statistics_state(const FileWork& work, const std::vector<std::string>& paths,
                             const FeatureNames& names, SurveyOptions options) {
  StatisticsSurvey survey = survey_statistics(work, paths, names, options);
  Where::Seen seen = seen_of(options);
  StateSaver state;
  archive_names(state, survey.found);
  archive_names(state, survey.present);
  return state.take() + saved(seen, survey.statistics);
}

void SchemaMerge::add(std::string_view bytes) {
  StateLoader state(bytes);
  Where::Seen seen;
  InferredSchema schema;
  StatisticsArchive::archive(state, seen);
  StatisticsArchive::archive(state, schema);
  state.require_end();
  if (where_) where_->add_seen(seen);
  schema_.merge(schema);
}

InferredSchema SchemaMerge::finish(const Tell& tell) {
  if (where_) tell(where_->require_possible(/*looked_at_all=*/true));
  return std::move(schema_);
}

void StatisticsMerge::add(std::string_view bytes) {
  StateLoader state(bytes);
  FeatureNames found;
  FeatureNames present;
  Where::Seen seen;
  FeatureStatistics statistics;
  archive_names(state, found);
  archive_names(state, present);
  StatisticsArchive::archive(state, seen);
  StatisticsArchive::archive(state, statistics);
  state.require_end();
  if (where_) where_->add_seen(seen);
  statistics_.merge(statistics);
  found_.merge(found);
  if (present_.size() < kMaxPresent) present_.merge(present);
}

FeatureStatistics StatisticsMerge::finish(const Tell& tell) {
  if (where_) tell(where_->require_possible(/*looked_at_all=*/true));
  if (statistics_.records > 0) {
    (void)require_found(names_, found_, {present_.begin(), present_.end()}, /*looked_at_all=*/true);
  }
  return std::move(statistics_);
}

}  // namespace recordpipe
