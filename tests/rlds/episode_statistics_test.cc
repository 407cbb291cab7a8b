#include "recordpipe/rlds/episode_statistics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/cache_home.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

class Statistics : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const CacheHome cache{directory / "cache"};
  std::vector<RandomEpisode> episodes = random_episodes(5, 12, 40);
  std::vector<EpisodeSlice> slices;

  void SetUp() override { write(); }
  void write() {
    slices.clear();
    for (size_t part = 0; part < 2; ++part) {
      const std::string path = directory / ("arm.tfrecord-" + std::to_string(part));
      const auto first = episodes.begin() + static_cast<std::ptrdiff_t>(part * 6);
      write_episodes(path, {first, first + 6});
      slices.push_back({path});
    }
  }
  StepReader reader(std::vector<std::pair<std::string, std::string>> features) const {
    return StepReader(random_features(), slices, {.features = std::move(features)});
  }
  // The statistics beside the data.
  std::vector<std::string> kept() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with("statistics-")) paths.push_back(entry.path());
    }
    return paths;
  }
  size_t kept_files() const { return kept().size(); }
  // The statistics in the cache.
  std::vector<std::string> cached() const {
    std::vector<std::string> paths;
    if (!std::filesystem::exists(directory / "cache")) return paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(directory / "cache/recordpipe/rlds")) {
      const std::string name = entry.path().filename();
      if (name.find("statistics-") != name.npos) paths.push_back(entry.path());
    }
    return paths;
  }
  // Computes statistics, and lets those of this content, which have a name of their own, find a
  // folder where their file should be: it can't be replaced, also by root.
  EpisodeStatistics refuse_to_keep() {
    const auto found = episode_statistics(reader({{"action", "action"}}));
    for (const std::string& path : kept()) {
      if (std::filesystem::is_directory(path)) continue;
      std::filesystem::remove(path);
      std::filesystem::create_directory(path);
    }
    return found;
  }
};

// By sorting.
double plain_quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

TEST_F(Statistics, AreThoseOfAllValues) {
  const auto found = episode_statistics(reader({{"a", "action"}, {"ticks", "ticks"}}));
  ASSERT_EQ(found.features.size(), 2U);
  EXPECT_EQ(found.episodes, episodes.size());
  const StepStatistics& action = found.features[0];
  EXPECT_EQ(action.name, "a");
  EXPECT_EQ(action.shape, (std::vector<size_t>{kActionSize}));
  for (size_t i = 0; i < kActionSize; ++i) {
    std::vector<double> values;
    for (const RandomEpisode& episode : episodes) {
      for (size_t t = 0; t < episode.steps(); ++t) {
        values.push_back(episode.actions[t * kActionSize + i]);
      }
    }
    ASSERT_EQ(found.steps, values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    EXPECT_NEAR(action.mean[i], mean, 1e-12);
    EXPECT_NEAR(action.std[i], std::sqrt(squares / static_cast<double>(values.size())), 1e-12);
    EXPECT_EQ(action.min[i], *std::ranges::min_element(values));
    EXPECT_EQ(action.max[i], *std::ranges::max_element(values));
    EXPECT_NEAR(action.q01[i], plain_quantile(values, 0.01), 1e-12);
    EXPECT_NEAR(action.q99[i], plain_quantile(values, 0.99), 1e-12);
  }
  EXPECT_EQ(found.features[1].shape, std::vector<size_t>());
}

TEST_F(Statistics, AreTheSameOnAnyThreads) {
  const StepReader of_action = reader({{"action", "action"}});
  const auto one = episode_statistics(of_action, {.threads = 1, .keep = false});
  for (size_t threads : {2, 5, 16}) {
    EXPECT_EQ(episode_statistics(of_action, {.threads = threads, .keep = false}), one);
  }
  EXPECT_EQ(kept_files(), 0U);
}

TEST_F(Statistics, AreKeptAndComputedAgainForOtherDataOrFeatures) {
  const StepReader of_action = reader({{"action", "action"}});
  const auto first = episode_statistics(of_action);
  EXPECT_EQ(kept_files(), 1U);
  EXPECT_EQ(episode_statistics(of_action), first);
  EXPECT_EQ(kept_files(), 1U);
  episode_statistics(reader({{"ticks", "ticks"}}));
  EXPECT_EQ(kept_files(), 2U);
  slices[0].end = 3;
  EXPECT_NE(episode_statistics(reader({{"action", "action"}})), first);
  slices[0].end = UINT64_MAX;
  episodes[0].actions.assign(episodes[0].actions.size(), 1000);
  episodes[1].actions.assign(episodes[1].actions.size(), 1000);
  write();
  EXPECT_NE(episode_statistics(reader({{"action", "action"}})), first);
}

TEST_F(Statistics, AreKeptInTheCacheIfTheFolderCantBeWritten) {
  const auto first = refuse_to_keep();
  EXPECT_TRUE(cached().empty());
  EXPECT_EQ(episode_statistics(reader({{"action", "action"}})), first);
  ASSERT_EQ(cached().size(), 1U);
  EXPECT_TRUE(std::filesystem::is_empty(kept().at(0)));
  // They are read: other numbers in them are returned.
  const std::string path = cached().at(0);
  const std::string intact = read_file(path);
  std::string other = intact;
  const size_t at = other.find("\"mean\": [") + 9;
  other.insert(other.find_first_of("-0123456789", at), "12345");
  write_file(path, other);
  const auto found = episode_statistics(reader({{"action", "action"}}));
  EXPECT_NE(found, first);
  EXPECT_EQ(found.features[0].q99, first.features[0].q99);
  // Damaged ones are made again.
  write_file(path, intact.substr(0, intact.size() / 2));
  EXPECT_EQ(episode_statistics(reader({{"action", "action"}})), first);
  EXPECT_EQ(read_file(path), intact);
}

TEST_F(Statistics, OfTheCacheAreThoseOfThisContentAndFolder) {
  const auto first = refuse_to_keep();
  episode_statistics(reader({{"action", "action"}}));
  // The same files with another value of the same size, a value more, and again the first content.
  const std::vector<RandomEpisode> before = episodes;
  episodes[4].actions.at(0) = 1000;
  write();
  refuse_to_keep();
  const auto changed = episode_statistics(reader({{"action", "action"}}));
  EXPECT_EQ(changed.features[0].max[0], 1000);
  EXPECT_EQ(cached().size(), 2U);
  EXPECT_EQ(episode_statistics(reader({{"action", "action"}})), changed);
  episodes = before;
  write();
  EXPECT_EQ(episode_statistics(reader({{"action", "action"}})), first);
  EXPECT_EQ(cached().size(), 2U);
  // A part of it.
  slices[1].end = 2;
  refuse_to_keep();
  EXPECT_NE(episode_statistics(reader({{"action", "action"}})), first);
  EXPECT_EQ(cached().size(), 3U);
}

TEST_F(Statistics, WorkWithoutAnyPlaceForThem) {
  const auto first = refuse_to_keep();
  write_file(directory / "cache", "a file where the folder should be");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(episode_statistics(reader({{"action", "action"}})), first);
  }
}

TEST_F(Statistics, ADamagedFileIsComputedAgain) {
  const StepReader of_action = reader({{"action", "action"}});
  const auto first = episode_statistics(of_action);
  const std::string path = kept().at(0);
  const std::string intact = read_file(path);
  for (const std::string& damaged :
       {std::string(), std::string("{"), std::string("[1, 2]"), std::string("{\"version\": 1}"),
        intact.substr(0, intact.size() / 2), std::string("null")}) {
    write_file(path, damaged);
    EXPECT_EQ(episode_statistics(of_action), first) << damaged;
    EXPECT_EQ(read_file(path), intact);
  }
}

TEST_F(Statistics, NaNAndInfinityAreLeftOutAndTheirEpisodeIsNamed) {
  const auto before = episode_statistics(reader({{"action", "action"}})).features[0];
  EXPECT_THAT(before.left_out, testing::Each(0u));
  EXPECT_TRUE(before.episodes.empty());
  uint64_t number = 0;
  while (episodes[number].steps() < 2) ++number;
  episodes[number].actions[0] = std::numeric_limits<float>::quiet_NaN();
  episodes[number].actions[1] = std::numeric_limits<float>::infinity();
  write();
  for (int pass = 0; pass < 2; ++pass) {  // computed, then kept
    const auto found = episode_statistics(reader({{"action", "action"}}));
    const StepStatistics& action = found.features[0];
    for (const auto* const statistic :
         {&action.mean, &action.std, &action.min, &action.max, &action.q01, &action.q99}) {
      for (const double value : *statistic) EXPECT_TRUE(std::isfinite(value));
    }
    EXPECT_LE(action.max[1], before.max[1]);
    EXPECT_GE(action.min[0], before.min[0]);
    EXPECT_EQ(action.mean[2], before.mean[2]);
    EXPECT_EQ(action.left_out[0], 1u);
    EXPECT_EQ(action.left_out[1], 1u);
    EXPECT_EQ(action.left_out[2], 0u);
    ASSERT_EQ(action.episodes.size(), 1u);
    EXPECT_EQ(action.episodes[0].episode, number);
    EXPECT_EQ(action.episodes[0].values, 2u);
    EXPECT_EQ(action.episodes[0].path, slices[number / 6].path);
  }
}

TEST_F(Statistics, WithoutFiniteValuesAreNaN) {
  for (RandomEpisode& episode : episodes) {
    for (size_t t = 0; t < episode.steps(); ++t) {
      episode.actions[t * (episode.actions.size() / episode.steps())] =
          std::numeric_limits<float>::quiet_NaN();
    }
  }
  write();
  const auto found = episode_statistics(reader({{"action", "action"}}));
  EXPECT_TRUE(std::isnan(found.features[0].mean[0]) && std::isnan(found.features[0].q99[0]));
  EXPECT_EQ(found.features[0].left_out[0], found.steps);
}

TEST_F(Statistics, RefusesWhatHasNone) {
  const auto kind_of = [&](const StepsOptions& options) {
    return error_of([&] { episode_statistics(StepReader(random_features(), slices, options)); })
        .kind();
  };
  EXPECT_EQ(kind_of({.features = {{"text", "language_instruction"}}}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of({.features = {{"n", "episode_metadata/number"}}}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of({.features = {{"a", "action"}}, .offsets = {{"a", {0}}}}),
            ErrorKind::invalid_argument);
  slices = {{slices[0].path, 3, 4}};  // without steps
  EXPECT_EQ(kind_of({.features = {{"a", "action"}}}), ErrorKind::invalid_argument);
}

TEST_F(Statistics, KeptOnesOfAnotherRecordOfTheSameSizeAreNotUsed) {
  episodes = random_episodes(7, 12, 400);  // larger than what a fingerprint reads
  for (const size_t changed : {1U, 4U, 7U, 10U}) {
    write();
    episode_statistics(reader({{"action", "action"}}));
    episodes[changed].actions.at(episodes[changed].actions.size() / 2) = 1000;
    write();
    const StepReader now = reader({{"action", "action"}});
    EXPECT_EQ(episode_statistics(now), episode_statistics(now, {.keep = false})) << changed;
  }
}

}  // namespace
}  // namespace recordpipe::rlds
