// Tests samples of long streams: the first records, or evenly spaced records, up to the capacity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/tfrecord/view/overview.h"

namespace recordpipe {
namespace {

// Offers records "0", "1", ...; `offered` counts the records offered before the sample was full.
struct Offered {
  RecordSample sample;
  size_t offered = 0;
};
Offered offer(RecordSample sample, size_t records, const std::string& padding = "") {
  Offered result{std::move(sample)};
  for (; result.offered < records && !result.sample.is_full(); ++result.offered) {
    if (result.sample.wants_next()) result.sample.add(std::to_string(result.offered) + padding);
  }
  return result;
}

TEST(RecordSample, TakesTheFirst) {
  const Offered result = offer(RecordSample(Sampling::first, 3, 1000), 100);
  EXPECT_THAT(result.sample.texts(), testing::ElementsAre("0", "1", "2"));
  EXPECT_EQ(result.offered, 3u);
  EXPECT_FALSE(result.sample.lacks_room());
}

TEST(RecordSample, TakesTheFirstThatFit) {
  const std::string padding(9, 'x');
  const Offered result = offer(RecordSample(Sampling::first, 30, 35), 100, padding);
  EXPECT_EQ(result.sample.texts().size(), 3u);
  EXPECT_TRUE(result.sample.lacks_room());
  // At least one record must be shown, however large it is.
  EXPECT_EQ(offer(RecordSample(Sampling::first, 30, 5), 100, padding).sample.texts().size(), 1u);
}

TEST(RecordSample, SpreadsEvenlyOverAnyNumber) {
  for (size_t records = 0; records < 300; ++records) {
    const RecordSample sample = offer(RecordSample(Sampling::spread, 10, 1000), records).sample;
    const std::vector<std::string_view> texts = sample.texts();
    ASSERT_EQ(texts.size(), std::min<size_t>(records, 10));
    ASSERT_EQ(sample.size(), texts.size());
    ASSERT_FALSE(sample.lacks_room());
    // Each text is near the beginning of its tenth of all records.
    for (size_t i = 0; i < texts.size(); ++i) {
      const double place = std::stod(std::string(texts[i])) / double(records);
      ASSERT_NEAR(place, double(i) / double(texts.size()), 0.1) << records;
    }
  }
}

TEST(RecordSample, SpreadsTheSameEachTime) {
  const auto sampled = [] {
    const RecordSample sample = offer(RecordSample(Sampling::spread, 300, 1 << 20), 10'000).sample;
    const std::vector<std::string_view> texts = sample.texts();
    return std::vector<std::string>(texts.begin(), texts.end());
  };
  EXPECT_EQ(sampled().size(), 300u);
  EXPECT_EQ(sampled(), sampled());
}

TEST(RecordSample, SpreadsWhatFits) {
  const std::string padding(99, 'x');
  const RecordSample sample =
      offer(RecordSample(Sampling::spread, 1000, 1000), 500, padding).sample;
  EXPECT_GE(sample.size(), 5u);  // half of the capacity
  EXPECT_LE(sample.size(), 10u);
  EXPECT_TRUE(sample.lacks_room());
}

}  // namespace
}  // namespace recordpipe
