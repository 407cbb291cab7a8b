// Compares distributions, moments and frequent values with plain computations on all values.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/toolkit/radix_sort.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/toolkit/feature_statistics.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

double plain_quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(place);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

TEST(Distribution, QuantilesOfFewValuesAreExact) {
  std::mt19937 random(1);
  for (size_t size = 1; size < 60; ++size) {
    Distribution distribution;
    std::vector<double> values;
    for (size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<double>(random() % 20) - 10);
      distribution.add(values.back());
    }
    EXPECT_TRUE(distribution.exact());
    for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
      EXPECT_DOUBLE_EQ(distribution.quantile(q), plain_quantile(values, q)) << size << " " << q;
    }
  }
}

TEST(Distribution, QuantilesOfManyValuesAreClose) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> lognormal(0, 3);
  Distribution distribution;
  std::vector<double> values;
  for (int i = 0; i < 50000; ++i) {
    values.push_back(lognormal(random) * (i % 3 == 0 ? -1 : 1));
    distribution.add(values.back());
  }
  EXPECT_FALSE(distribution.exact());
  EXPECT_EQ(distribution.count(), 50000u);
  EXPECT_EQ(distribution.min(), std::ranges::min(values));
  EXPECT_EQ(distribution.max(), std::ranges::max(values));
  for (const double q : {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99}) {
    const double exact = plain_quantile(values, q);
    EXPECT_NEAR(distribution.quantile(q), exact, 0.004 * std::abs(exact) + 1e-9) << q;
  }
}

TEST(Distribution, PartsMergeToTheSameInAnyOrder) {
  for (const size_t different : {100u, 5000u}) {
    std::vector<Distribution> parts(7);
    Distribution whole;
    std::mt19937 random(3);
    for (int i = 0; i < 30000; ++i) {
      const double value = static_cast<double>(random() % different) / 7;
      parts[random() % parts.size()].add(value);
      whole.add(value);
    }
    Distribution forwards;
    Distribution backwards;
    for (size_t i = 0; i < parts.size(); ++i) {
      forwards.merge(parts[i]);
      backwards.merge(parts[parts.size() - 1 - i]);
    }
    const std::vector<double> qs = {0, 0.1, 0.5, 0.9, 1};
    for (const Distribution* merged : {&forwards, &backwards}) {
      EXPECT_EQ(merged->exact(), different == 100);
      EXPECT_EQ(merged->quantiles(qs), whole.quantiles(qs));
      EXPECT_EQ(merged->histogram(16), whole.histogram(16));
    }
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Distribution, ExtremeValues) {
  Distribution distribution;
  for (const double value : {-kInfinity, -1e308, -0.0, 0.0, 1e-320, 1e308, kInfinity}) {
    distribution.add(value);
  }
  EXPECT_EQ(distribution.min(), -kInfinity);
  EXPECT_EQ(distribution.max(), kInfinity);
  EXPECT_EQ(distribution.quantile(0.5), 0);
  EXPECT_EQ(distribution.finite(), 5u);
  EXPECT_EQ(distribution.finite_min(), -1e308);
  EXPECT_EQ(distribution.finite_max(), 1e308);
  EXPECT_EQ(distribution.histogram(4), (std::vector<uint64_t>{1, 0, 3, 1}));
}

// Between an infinity and a finite value there is nothing to interpolate: the nearer of the two is
// returned.
TEST(Distribution, QuantilesBesideInfinities) {
  Distribution distribution;
  for (const double value : {-kInfinity, 1.0, 2.0}) distribution.add(value);
  EXPECT_EQ(distribution.quantiles({0, 0.25, 0.26, 0.5, 0.75, 1}),
            (std::vector<double>{-kInfinity, -kInfinity, 1, 1, 1.5, 2}));
  EXPECT_EQ(distribution.histogram(2), (std::vector<uint64_t>{1, 1}));
  Distribution infinities;
  for (const double value : {kInfinity, kInfinity, -kInfinity}) infinities.add(value);
  EXPECT_EQ(infinities.quantiles({0.1, 0.5, 1}),
            (std::vector<double>{-kInfinity, kInfinity, kInfinity}));
  EXPECT_EQ(infinities.finite(), 0u);
  // The middle of a bucket is never NaN, either.
  for (int i = 0; i < 5000; ++i) distribution.add(i);
  for (int i = 0; i < 5000; ++i) distribution.add(kInfinity);
  EXPECT_FALSE(distribution.exact());
  EXPECT_EQ(distribution.quantile(0.6), kInfinity);
  EXPECT_EQ(distribution.quantile(1e-5), -kInfinity);
}

// Values are added singly or as runs, and the limit is set at the start or later.
TEST(Distribution, BucketsWidenToALimit) {
  std::mt19937 random(5);
  std::vector<float> values;
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  Distribution one_by_one(4096, 1152);
  Distribution wide;
  for (const float value : values) {
    one_by_one.add(value);
    wide.add(value);
  }
  Distribution runs(4096, 1152);
  Distribution merged(4096, 1152);
  for (size_t begin = 0; begin < values.size(); begin += 10'000) {
    std::vector<float> some(
        values.begin() + static_cast<std::ptrdiff_t>(begin),
        values.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 10'000, values.size())));
    std::ranges::sort(some);
    std::vector<ValueRun<float>> rising;
    Distribution part(4096, 1152);
    for (const float value : some) {
      part.add(value);
      if (!rising.empty() && rising.back().value == value) {
        ++rising.back().times;
      } else {
        rising.push_back({value, 1});
      }
    }
    runs.add(rising);
    merged.merge(part);
  }
  EXPECT_EQ(wide.within(), 1.0 / 256);
  EXPECT_GT(wide.size(), 30'000u);
  wide.limit(1152);

  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::vector<double> qs = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
  for (const Distribution* distribution : {&one_by_one, &wide, &runs, &merged}) {
    EXPECT_LE(distribution->size(), 1152u);
    EXPECT_EQ(distribution->within(), 0.25);
    EXPECT_EQ(distribution->count(), values.size());
    EXPECT_EQ(distribution->min(), sorted.front());
    EXPECT_EQ(distribution->max(), sorted.back());
    const auto quantiles = distribution->quantiles(qs);
    EXPECT_EQ(quantiles, one_by_one.quantiles(qs));
    for (size_t i = 0; i < qs.size(); ++i) {
      const double exact = plain_quantile(sorted, qs[i]);
      EXPECT_NEAR(quantiles[i], exact, 0.25 * std::abs(exact) + 1e-36) << qs[i];
    }
  }
}

TEST(Moments, AreThoseOfAllValues) {
  std::mt19937 random(4);
  std::vector<double> values;
  Moments merged;
  for (int part = 0; part < 20; ++part) {
    Moments moments;
    for (size_t i = random() % 100; i > 0; --i) {
      values.push_back(1e9 + random() % 1000);
      moments.add(values.back());
    }
    merged.merge(moments);
  }
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double variance = 0;
  for (const double value : values) {
    variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
  }
  EXPECT_EQ(merged.count(), values.size());
  EXPECT_NEAR(merged.mean(), mean, 1e-6);
  EXPECT_NEAR(merged.standard_deviation(), std::sqrt(variance), 1e-6);
}

template <typename Value>
std::vector<std::pair<Value, uint64_t>> top(const FrequentValues<Value>& frequent, size_t most) {
  std::vector<std::pair<Value, uint64_t>> result;
  for (const auto& [value, times] : frequent.top(most)) result.emplace_back(value, times);
  return result;
}

template <typename Number, typename Draw>
void expect_sorted(Draw draw) {
  for (const size_t size : {0u, 1u, 10u, 255u, 256u, 1000u, 5000u}) {
    std::vector<Number> numbers;
    for (size_t i = 0; i < size; ++i) numbers.push_back(draw(i));
    std::vector<Number> expected = numbers;
    std::ranges::sort(expected);
    radix_sort(numbers);
    EXPECT_EQ(numbers, expected) << size;
  }
}

TEST(RadixSort, SortsAsComparingDoes) {
  std::mt19937_64 random(7);
  expect_sorted<int64_t>([&](size_t) { return static_cast<int64_t>(random()); });
  expect_sorted<int64_t>([&](size_t) { return static_cast<int64_t>(random() % 300) - 150; });
  expect_sorted<int64_t>([&](size_t) { return 7; });
  expect_sorted<float>([&](size_t i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    return i % 50 == 0 ? (i % 100 == 0 ? -1.0f : 1.0f) * std::numeric_limits<float>::infinity()
           : std::isnan(value) ? 0.0f
                               : value;
  });
}

TEST(FrequentValues, AreExactUpToALimit) {
  using Top = std::vector<std::pair<int64_t, uint64_t>>;
  FrequentValues<int64_t> frequent;
  frequent.add(std::vector<ValueRun<int64_t>>{{1, 1}, {2, 1}, {7, 35}});
  frequent.add(std::vector<ValueRun<int64_t>>{{-3, 2}, {2, 5}, {9, 1}});
  EXPECT_TRUE(frequent.exact());
  EXPECT_EQ(frequent.distinct(), 5u);
  EXPECT_EQ(top(frequent, 3), (Top{{7, 35}, {2, 6}, {-3, 2}}));

  std::vector<ValueRun<int64_t>> many;
  for (int64_t i = 10; i < 5000; ++i) many.push_back({i, 1});
  frequent.add(many);
  EXPECT_FALSE(frequent.exact());
  EXPECT_EQ(frequent.distinct(), FrequentValues<int64_t>::kMax);
  // The values that came first are still counted; other values aren't.
  frequent.add(std::vector<ValueRun<int64_t>>{{1, 10}, {4999, 1000}});
  EXPECT_EQ(top(frequent, 2), (Top{{7, 35}, {1, 11}}));

  frequent.limit(3);
  EXPECT_EQ(top(frequent, 9), (Top{{7, 35}, {1, 11}, {2, 6}}));
  frequent.add(std::vector<ValueRun<int64_t>>{{0, 1}, {2, 100}});
  EXPECT_EQ(top(frequent, 9), (Top{{2, 106}, {7, 35}, {1, 11}}));
}

TEST(FrequentValues, MergeToTheMostFrequentOfAll) {
  FrequentValues<std::string> a;
  FrequentValues<std::string> b;
  a.add(std::vector<ValueRun<std::string>>{{"cat", 2}, {"dog", 1}});
  b.add(std::vector<ValueRun<std::string>>{{"bird", 2}, {"dog", 4}});
  a.merge(b);
  using Top = std::vector<std::pair<std::string, uint64_t>>;
  EXPECT_EQ(top(a, 9), (Top{{"dog", 5}, {"bird", 2}, {"cat", 2}}));
}

TEST(FeatureStatistics, NansAndInfinitiesAreCountedApart) {
  const std::vector<float> values = {1, 2, std::numeric_limits<float>::quiet_NaN(),
                                     std::numeric_limits<float>::infinity(), 3};
  const std::string example = ExampleBuilder().set_floats("x", values).serialize();
  MessageView message;
  message.read(as_bytes(example));
  StatisticsPart part;
  part.add(message, example.size());
  part.settle();
  FeatureStatistics statistics;
  statistics.merge(part);
  const auto& x = statistics.features.at("x").floats;
  EXPECT_EQ(x.count, 5u);
  EXPECT_EQ(x.nans, 1u);
  EXPECT_EQ(x.min, 1);
  EXPECT_EQ(x.max, std::numeric_limits<float>::infinity());
  EXPECT_EQ(x.moments.mean(), 2);
  EXPECT_EQ(x.distribution.quantile(0.5), 2.5);
}

// Returns records of many values in features f0, f1, ...
std::vector<std::string> random_records(size_t records, size_t features, size_t values) {
  std::mt19937 random(6);
  std::vector<std::string> result;
  std::vector<float> floats(values);
  for (size_t i = 0; i < records; ++i) {
    ExampleBuilder builder;
    for (size_t f = 0; f < features; ++f) {
      for (float& value : floats) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      builder.set_floats("f" + std::to_string(f), floats);
    }
    result.push_back(builder.serialize());
  }
  return result;
}

TEST(FeatureStatistics, MakeRoomForManyFeaturesOfManyValues) {
  // If f0 were the only feature, the error would be at most 0.4 %.
  const auto records = random_records(20, 200, 400);
  FeatureStatistics statistics;
  FeatureStatistics alone;
  for (const std::string& record : records) {
    MessageView message;
    message.read(as_bytes(record));
    StatisticsPart part;
    part.add(message, record.size());
    part.settle();
    statistics.merge(part);
    alone.add(message, record.size(), std::vector<std::string>{"f0"});
  }
  size_t numbers = 0;
  for (const auto& [name, values] : statistics.features) {
    numbers += values.floats.distribution.size();
  }
  EXPECT_LE(numbers, size_t{1} << 20);
  const auto& f0 = statistics.features.at("f0").floats;
  EXPECT_EQ(f0.count, 8000u);
  EXPECT_GT(f0.distribution.within(), 1.0 / 256);
  EXPECT_LE(f0.distribution.within(), 0.25);
  const auto& f0_alone = alone.features.at("f0").floats;
  EXPECT_EQ(f0_alone.distribution.within(), 1.0 / 256);
  EXPECT_EQ(f0.min, f0_alone.min);
  EXPECT_EQ(f0.max, f0_alone.max);
  EXPECT_EQ(f0.nans, f0_alone.nans);
  EXPECT_NEAR(f0.moments.mean() / f0_alone.moments.mean(), 1, 1e-9);
  const double median = f0_alone.distribution.quantile(0.9);
  EXPECT_NEAR(f0.distribution.quantile(0.9), median, 0.26 * std::abs(median));
}

TEST(FeatureStatistics, ARecordAtATimeIsTheSameAsInParts) {
  const auto records = random_records(3, 2, 100'000);
  FeatureStatistics in_parts;
  FeatureStatistics where_they_lie;
  for (const std::string& record : records) {
    MessageView message;
    message.read(as_bytes(record));
    StatisticsPart part;
    part.add(message, record.size());
    part.settle();
    in_parts.merge(part);
    where_they_lie.add(message, record.size());
  }
  EXPECT_EQ(in_parts.record_sizes.total, where_they_lie.record_sizes.total);
  EXPECT_EQ(in_parts.record_sizes.distribution.max(),
            double(std::ranges::max(records, {}, &std::string::size).size()));
  for (const char* const name : {"f0", "f1"}) {
    const auto& a = in_parts.features.at(name).floats;
    const auto& b = where_they_lie.features.at(name).floats;
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.nans, b.nans);
    EXPECT_EQ(a.min, b.min);
    EXPECT_EQ(a.max, b.max);
    EXPECT_EQ(a.distribution.quantiles({0.1, 0.5, 0.9}), b.distribution.quantiles({0.1, 0.5, 0.9}));
  }
}

TEST(FeatureStatistics, NamesAreBounded) {
  FeatureStatistics statistics;
  for (int i = 0; i < 10; ++i) {
    const std::string name(size_t{1} << 20, static_cast<char>('a' + i));
    const std::string example = ExampleBuilder().set_int64(name, 1).serialize();
    MessageView message;
    message.read(as_bytes(example));
    StatisticsPart part;
    part.add(message, example.size());
    part.settle();
    statistics.merge(part);
  }
  EXPECT_EQ(statistics.features.size(), 4u);
  EXPECT_EQ(statistics.left_out, 6u);
}

}  // namespace
}  // namespace recordpipe
