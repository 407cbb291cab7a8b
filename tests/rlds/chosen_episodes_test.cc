// Steps of chosen episodes, and what the index knows of an episode.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/rlds/steps.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

class ChosenEpisodes : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::vector<RandomEpisode> episodes;
  std::shared_ptr<const StepReader> all;

  void SetUp() override {
    std::vector<EpisodeSlice> slices;
    for (uint64_t file = 0; file < 3; ++file) {
      const auto part = random_episodes(70 + file, 9, 12);
      slices.push_back({directory / ("arm-" + std::to_string(file))});
      write_episodes(slices.back().path, part);
      episodes.insert(episodes.end(), part.begin(), part.end());
    }
    all = std::make_shared<StepReader>(random_features(), slices,
                                       StepsOptions{.features = {{"ticks", "ticks"}}});
  }

  static std::vector<int64_t> ticks(const std::shared_ptr<const StepReader>& reader) {
    std::vector<int64_t> found;
    for (const Step& step : steps(reader)) {
      reader->write(reader->row(step.number), 0,
                    reinterpret_cast<std::byte*>(&found.emplace_back()));
    }
    return found;
  }
};

TEST_F(ChosenEpisodes, AreThoseOfTheNumbersInTheirOrder) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> numbers;
    std::vector<int64_t> expected;
    // Runs, that also cross the ends of files, and single ones; some twice.
    while (random() % 6 != 0) {
      const uint64_t first = random() % episodes.size();
      const uint64_t end = std::min<uint64_t>(first + random() % 15, episodes.size());
      for (uint64_t number = first; number < end; ++number) {
        numbers.push_back(number);
        expected.insert(expected.end(), episodes[number].ticks.begin(),
                        episodes[number].ticks.end());
      }
    }
    const auto chosen = all->chosen(numbers);
    ASSERT_EQ(chosen->files().episodes(), numbers.size());
    ASSERT_EQ(ticks(chosen), expected);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(chosen->files().episode(i).steps, episodes[numbers[i]].steps());
    }
  }
}

TEST_F(ChosenEpisodes, OtherNumbersAreOtherPlans) {
  const std::vector<uint64_t> some = {2, 3, 11}, others = {2, 3, 12};
  EXPECT_EQ(all->chosen(some)->files().fingerprint(), all->chosen(some)->files().fingerprint());
  EXPECT_NE(all->chosen(some)->files().fingerprint(), all->chosen(others)->files().fingerprint());
  const std::vector<uint64_t> within = {1, 2};
  EXPECT_EQ(all->chosen(some)->chosen(within)->files().fingerprint(),
            all->chosen(std::vector<uint64_t>{3, 11})->files().fingerprint());
  const Error error = error_of([&] { all->chosen(std::vector<uint64_t>{27}); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
}

TEST_F(ChosenEpisodes, TheIndexKnowsWhatIsNotOfTheSteps) {
  MessageView view(MessageKind::example);
  for (uint64_t number = 0; number < episodes.size(); ++number) {
    const std::string example = all->episode(number);
    view.read(as_bytes(example));
    ASSERT_EQ(view.features().size(), 3U);
    ASSERT_EQ(view.features()[0].name, "episode_metadata/file_path");
    EXPECT_EQ(view.features()[1].feature.int64_values().at(0), episodes[number].number);
    EXPECT_EQ(view.features()[2].feature.int64_values().at(0),
              static_cast<int64_t>(episodes[number].steps()));
  }
}

}  // namespace
}  // namespace recordpipe::rlds
