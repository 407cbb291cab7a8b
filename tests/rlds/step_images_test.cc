// Decoded images in the rows of steps.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/rlds/step_batch.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

constexpr size_t kHeight = 5;
constexpr size_t kWidth = 7;
constexpr size_t kPixels = kHeight * kWidth * 3;

class StepImages : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "arm.tfrecord";
  std::vector<std::vector<std::vector<uint8_t>>> pixels;  // of each step of each episode

  void SetUp() override {
    std::mt19937_64 random(3);
    std::vector<RandomEpisode> episodes = random_episodes(9, 6, 12);
    for (RandomEpisode& episode : episodes) {
      pixels.emplace_back();
      for (std::string& image : episode.images) {
        std::vector<uint8_t> values(kPixels);
        for (uint8_t& value : values) value = static_cast<uint8_t>(random());
        image = as_text(encode_png(values, kHeight, kWidth, 3));
        pixels.back().push_back(std::move(values));
      }
    }
    write_episodes(path, episodes);
  }

  std::shared_ptr<const StepReader> reader(std::vector<int64_t> offsets, Pad pad) const {
    return std::make_shared<StepReader>(random_features(), std::vector<EpisodeSlice>{{path}},
                                        StepsOptions{.features = {{"image", "observation/image"}},
                                                     .offsets = {{"image", std::move(offsets)}},
                                                     .pad = pad});
  }
};

TEST_F(StepImages, WindowsHaveTheImagesOfTheirSteps) {
  const std::vector<int64_t> offsets{-2, 0, 0, 3};
  for (const Pad pad : {Pad::edge, Pad::zero}) {
    const auto chosen = reader(offsets, pad);
    // A size that is known without decoding: nothing is changed by it.
    const ImageSpec spec{.feature = "image",
                         .source = DecodeOptions{.channels = 3},
                         .distortion = ResizeAndCrop{.to = ImageSize{kHeight, kWidth}}};
    const StepCollator collator(chosen, {spec});
    for (size_t threads : {1, 4}) {
      auto batches = steps(chosen)
                         .batch(9, DropRemainder::no, collator)
                         .with_options({.threads = threads})
                         .iterate();
      const StepBatch* batch = batches.next();
      size_t row = 0;
      for (const auto& episode : pixels) {
        const auto last = static_cast<int64_t>(episode.size()) - 1;
        for (int64_t t = 0; t <= last; ++t, ++row) {
          if (row == batch->rows) {
            batch = batches.next();
            row = 0;
          }
          ASSERT_NE(batch, nullptr);
          const auto values = batch->images[0].batch.uint8s();
          for (size_t w = 0; w < offsets.size(); ++w) {
            const int64_t at = t + offsets[w];
            const bool real = at >= 0 && at <= last;
            std::vector<uint8_t> expected(kPixels);
            if (real || pad == Pad::edge) {
              expected = episode[static_cast<size_t>(std::clamp<int64_t>(at, 0, last))];
            }
            const auto found = values.subspan((row * offsets.size() + w) * kPixels, kPixels);
            EXPECT_TRUE(std::ranges::equal(found, expected)) << row << " " << w;
          }
        }
      }
      EXPECT_EQ(batches.next(), nullptr);
    }
  }
}

TEST_F(StepImages, ZerosNeedASize) {
  const auto chosen = reader({-1, 0}, Pad::zero);
  const StepCollator collator(chosen, {{.feature = "image"}});
  auto batches = steps(chosen).batch(4, DropRemainder::no, collator).iterate();
  EXPECT_EQ(error_of([&] { batches.next(); }).kind(), ErrorKind::invalid_argument);
}

TEST_F(StepImages, AWindowHasOneRandomCropAndEpochsDiffer) {
  const auto chosen = reader({0, 0}, Pad::edge);
  const StepCollator collator(chosen, {{.feature = "image",
                                        .source = DecodeOptions{.channels = 3},
                                        .distortion = RandomResizedCrop{.to = {4, 4}},
                                        .seed = 5}});
  const auto all = [&](uint64_t epoch, size_t threads) {
    std::vector<uint8_t> values;
    for (const StepBatch& batch : draw_images(steps(chosen).shuffle(20, 1), collator)
                                      .batch(5, DropRemainder::no, collator)
                                      .with_options({.threads = threads})
                                      .epoch(epoch)) {
      const auto images = batch.images[0].batch.uint8s();
      const size_t size = images.size() / batch.rows / 2;
      for (size_t row = 0; row < batch.rows; ++row) {
        EXPECT_TRUE(std::ranges::equal(images.subspan(2 * row * size, size),
                                       images.subspan((2 * row + 1) * size, size)));
      }
      values.insert(values.end(), images.begin(), images.end());
    }
    return values;
  };
  EXPECT_EQ(all(0, 1), all(0, 4));
  EXPECT_NE(all(0, 1), all(1, 1));
}

TEST_F(StepImages, ABrokenImageIsNamedByItsRecord) {
  std::vector<RandomEpisode> episodes = random_episodes(9, 3, 12);  // bytes that are no images
  write_episodes(path, episodes);
  const auto chosen = reader({0}, Pad::edge);
  const StepCollator collator(chosen, {{.feature = "image"}});
  auto batches = steps(chosen).batch(1, DropRemainder::no, collator).iterate();
  const Error error = error_of([&] { batches.next(); });
  EXPECT_EQ(error.path(), path);
  EXPECT_EQ(error.offset(), 0U);
  EXPECT_NE(error.reason().find("image"), std::string::npos);
  EXPECT_EQ(error_of([&] { StepCollator(chosen, {{.feature = "action"}}); }).kind(),
            ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe::rlds
