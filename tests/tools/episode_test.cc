// Tests which steps and features of an episode the page of `tfrecord view` gets.
#include "tools/tfrecord/view/episode.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/encode_png.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const EpisodeOptions kOptions = {.largest = 10'000};

// An Example with these features.
class TestEpisode {
 public:
  TestEpisode() = default;
  explicit TestEpisode(size_t steps) { integers("steps/is_first", std::vector<int64_t>(steps, 0)); }

  TestEpisode& integers(std::string_view name, const std::vector<int64_t>& values) {
    example_.set_int64s(name, values);
    return *this;
  }
  TestEpisode& floats(std::string_view name, const std::vector<float>& values) {
    example_.set_floats(name, values);
    return *this;
  }
  TestEpisode& files(std::string_view name, const std::vector<std::string>& values) {
    std::vector<std::span<const std::byte>> views;
    for (const std::string& value : values) views.push_back(as_bytes(value));
    example_.set_bytes_list(name, views);
    return *this;
  }

  std::optional<Episode> episode(const EpisodeOptions& options = kOptions) const {
    const std::string bytes = example_.serialize();
    MessageView message;
    message.read(as_bytes(bytes));
    return find_episode(message, options);
  }

 private:
  ExampleBuilder example_;
};

std::string png(size_t side) {
  const std::vector<std::byte> file =
      encode_png(std::vector<uint8_t>(side * side * 3, 7), side, side, 3);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

std::vector<size_t> steps_of(const FilmStrip& strip) {
  std::vector<size_t> steps;
  for (const auto& [step, image] : strip.frames) steps.push_back(step);
  return steps;
}

TEST(Episode, IsAnExampleWithScalarsOfSteps) {
  EXPECT_FALSE(TestEpisode().floats("reward", {1}).floats("steps/action", {1}).episode());
  EXPECT_FALSE(TestEpisode(0).episode());
  EXPECT_FALSE(TestEpisode(3).episode());  // nothing to show
  EXPECT_EQ(TestEpisode(3).floats("steps/a", {1, 2, 3}).episode().value().steps, 3);
  EXPECT_EQ(TestEpisode().floats("steps/reward", {1, 2}).episode().value().steps, 2);
}

TEST(Episode, HasFramesFromTheFirstStepToTheLast) {
  for (const auto& [steps, shown] : std::vector<std::pair<size_t, std::vector<size_t>>>{
           {1, {0}}, {3, {0, 1, 2}}, {30, {0, 4, 8, 12, 16, 20, 24, 29}}}) {
    TestEpisode record(steps);
    record.files("steps/observation/image", std::vector<std::string>(steps, png(2)));
    const Episode episode = record.episode().value();
    ASSERT_THAT(episode.strips, SizeIs(1));
    EXPECT_EQ(episode.strips[0].name, "observation/image");
    EXPECT_EQ(steps_of(episode.strips[0]), shown);
    EXPECT_EQ(episode.strips[0].frames[0].second.type, "image/png");
  }
}

TEST(Episode, FramesAreReducedAndBounded) {
  TestEpisode record(3);
  record.files("steps/a", {png(200), "no image", png(2) + std::string(20'000, 'x')});
  const FilmStrip strip = record.episode().value().strips.at(0);
  EXPECT_LT(strip.frames[0].second.file.size(), png(200).size());
  EXPECT_EQ(strip.frames[1].second.problem, "no image file");
  EXPECT_THAT(strip.frames[2].second.problem, testing::HasSubstr("this page takes up to"));
}

TEST(Episode, OneCameraOrTheFirstOnes) {
  TestEpisode record(2);
  for (const char* const name : {"a", "b", "c", "d"}) {
    record.files("steps/" + std::string(name), {png(2), png(2)});
  }
  record.files("steps/language_instruction", {"pick", "pick"});
  record.files("steps/short", {png(2)});
  EXPECT_THAT(record.episode().value().strips, SizeIs(kCamerasShown));
  const auto only = record.episode({.camera = "steps/d", .largest = 10'000}).value();
  ASSERT_THAT(only.strips, SizeIs(1));
  EXPECT_EQ(only.strips[0].name, "d");
}

TEST(Episode, HasALineForEachDimension) {
  TestEpisode record(3);
  record.floats("steps/action", {0, 10, 5, 10, 10, 10});
  record.integers("steps/reward", {0, 0, 1});
  record.floats("steps/ragged", {1, 2, 3, 4});
  record.floats("other", {1, 2, 3});
  const Episode episode = record.episode().value();
  ASSERT_THAT(episode.plots, SizeIs(2));
  const Plot& action = episode.plots[0];
  EXPECT_EQ(std::tie(action.name, action.dimensions, action.min, action.max),
            std::tuple("action", 2, 0, 10));
  EXPECT_THAT(action.lines,
              ElementsAre("M0.0 60.0h0L150.0 30.0L300.0 0.0", "M0.0 0.0h0L150.0 0.0L300.0 0.0"));
  EXPECT_EQ(episode.plots[1].name, "reward");
  EXPECT_THAT(episode.plots[1].lines, ElementsAre("M0.0 60.0h0L150.0 60.0L300.0 0.0"));
}

TEST(Episode, NumbersThatAreNotFiniteAreGaps) {
  TestEpisode record(4);
  record.floats("steps/a", {1, kNan, 2, std::numeric_limits<float>::infinity()});
  record.floats("steps/nan", std::vector<float>(4, kNan));
  const Episode episode = record.episode().value();
  ASSERT_THAT(episode.plots, SizeIs(1));
  EXPECT_THAT(episode.plots[0].lines, ElementsAre("M0.0 60.0h0M200.0 0.0h0"));
  EXPECT_THAT(TestEpisode().floats("steps/reward", {3}).episode().value().plots.at(0).lines,
              ElementsAre("M150.0 30.0h0"));
}

TEST(Episode, LongAndWideOnesAreBounded) {
  constexpr size_t kLong = 5'000;
  TestEpisode record(kLong);
  std::vector<float> spike(kLong, 0);
  spike[1'234] = 1;
  record.floats("steps/spike", spike);
  record.floats("steps/wide", std::vector<float>(kLong * 40, 1));
  record.floats("steps/pixels", std::vector<float>(kLong * 65, 1));
  for (int i = 0; i < 20; ++i) record.floats("steps/x" + std::to_string(i), spike);
  const Episode episode = record.episode().value();
  EXPECT_THAT(episode.plots, SizeIs(kPlotsShown));
  const auto& line = episode.plots[0].lines.at(0);
  EXPECT_LT(line.size(), 4'000);
  EXPECT_THAT(line, testing::HasSubstr("L74.1 0.0"));  // the spike is not lost
  EXPECT_EQ(episode.plots[1].dimensions, 40);
  EXPECT_THAT(episode.plots[1].lines, SizeIs(kLinesShown));
  // A megabyte of a compressed file may hold many more.
  EXPECT_FALSE(
      TestEpisode().integers("steps/reward", std::vector<int64_t>(4'200'000, 1)).episode());
}

}  // namespace
}  // namespace recordpipe
