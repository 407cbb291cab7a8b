// Compares the tutorial's batches with a plain loop that applies the same distortions, and tests
// the order, states and shards of the batches.
#include "recordpipe/cifar/tutorial_batches.h"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/crop_flip_color.h"
#include "tests/cifar/random_images.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;

constexpr ImageSize kImage = {32, 32}, kCrop = {24, 24};

class TutorialBatches : public ::testing::Test {
 protected:
  TemporaryDirectory directory;

  std::vector<std::string> two_files() {
    return {write_images(directory / "a", 0, 40), write_images(directory / "b", 40, 60)};
  }
};

std::vector<Bytes> run_tutorial(const std::vector<std::string>& files,
                                const Cifar10TutorialOptions& options) {
  std::vector<Bytes> out;
  for (const ImageBatch& batch : cifar10_tutorial_batches(files, options))
    out.push_back(bytes_of(batch));
  return out;
}

// Computes the same batches with the naive pipeline, one image at a time.
std::vector<Bytes> run_plainly(uint64_t images, const Cifar10TutorialOptions& options) {
  std::vector<Image> all;
  for (uint64_t i = 0; i < images; ++i) all.push_back(image_of(i));
  struct Row {
    Image image;
    CropFlipColor distortion;
  };
  auto pipeline = naive::from_vector(all);
  if (options.shuffle_buffer > 0) pipeline = pipeline.shuffle(options.shuffle_buffer, options.seed);
  const auto rows =
      pipeline.repeat(options.epochs)
          .map_with_random(options.seed, [&](const Image& image, Random& random) {
            return Row{image, options.distort ? CropFlipColor::draw(random, kImage, kCrop)
                                              : CropFlipColor::central(kImage, kCrop)};
          });
  const ImageFormat format{
      .height = 24, .width = 24, .dtype = options.dtype, .layout = options.layout};
  std::vector<Bytes> out;
  for (const auto& batch : rows.batch(options.batch_size, options.drop_remainder).values()) {
    ImageBatch plain;
    plain.reset(format, batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      plain.set_label(i, batch[i].image.label);
      crop_flip_color(batch[i].image.pixels, kImage, batch[i].distortion, format,
                      plain.image_at(i));
    }
    out.push_back(bytes_of(plain));
  }
  return out;
}

TEST_F(TutorialBatches, AreOfStandardisedFloatsOf24By24By3) {
  size_t batches = 0, images = 0;
  for (const ImageBatch& batch :
       cifar10_tutorial_batches(two_files(), {.batch_size = 32, .distort = true})) {
    ++batches;
    images += batch.size();
    EXPECT_EQ(batch.format(), (ImageFormat{.height = 24, .width = 24}));
    ASSERT_EQ(batch.floats().size(), batch.size() * 24 * 24 * 3);
    for (size_t i = 0; i < batch.size(); ++i) {
      double sum = 0, squares = 0;
      for (const float value : batch.floats().subspan(i * 1728, 1728)) {
        sum += value;
        squares += double{value} * value;
      }
      EXPECT_NEAR(sum / 1728, 0, 1e-5);
      EXPECT_NEAR(squares / 1728, 1, 1e-5);
    }
  }
  EXPECT_EQ(batches, 4u);
  EXPECT_EQ(images, 100u);
}

TEST_F(TutorialBatches, EvaluationSeesTheMiddleOfEachImageOnce) {
  const auto files = two_files();
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    const Cifar10TutorialOptions options{.batch_size = 30, .layout = layout};
    const auto batches = run_tutorial(files, options);
    ASSERT_EQ(batches.size(), 4u);
    EXPECT_EQ(batches.back().labels.size(), 10u);
    EXPECT_TRUE(batches == run_plainly(100, options));
  }
  EXPECT_EQ(run_tutorial(files, {.batch_size = 30, .drop_remainder = true}).size(), 3u);
}

TEST_F(TutorialBatches, EndAfterSoManyImages) {
  const auto files = two_files();
  const auto all = run_tutorial(files, {.batch_size = 30});
  const auto some = run_tutorial(files, {.batch_size = 30, .take = 70});
  ASSERT_EQ(some.size(), 3u);
  EXPECT_TRUE(some[1] == all[1]);
  EXPECT_EQ(some[2].labels,
            std::vector<int32_t>(all[2].labels.begin(), all[2].labels.begin() + 10));
  EXPECT_TRUE(run_tutorial(files, {.batch_size = 30, .take = 101}) == all) << "there are no more";
  EXPECT_EQ(run_tutorial(files, {.batch_size = 30, .epochs = 2, .take = 150}).size(), 5u);
  size_t shared = 0;
  for (const size_t w : {0, 1})
    for (const Bytes& batch :
         run_tutorial(files, {.batch_size = 30, .take = 71, .num_shards = 2, .shard_index = w}))
      shared += batch.labels.size();
  EXPECT_EQ(shared, 71u);
}

TEST_F(TutorialBatches, TheSameBytesAtAnyThreadCountAsThePlainTwins) {
  const auto files = two_files();
  const std::vector<std::string> zipped = {
      write_images(directory / "z", 0, 100, Compression::gzip)};
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    Cifar10TutorialOptions options{
        .batch_size = 32, .shuffle_buffer = 50, .distort = true, .epochs = 2, .dtype = dtype};
    const auto expected = run_plainly(100, options);
    ASSERT_EQ(expected.size(), 7u);
    for (const size_t threads : {1, 3}) {
      options.threads = threads;
      for (const size_t prefetch : {0, 3}) {
        options.prefetch = prefetch;
        EXPECT_TRUE(run_tutorial(files, options) == expected) << threads << " threads";
      }
    }
    EXPECT_TRUE(run_tutorial(zipped, options) == expected) << "gzip";
  }
}

TEST_F(TutorialBatches, AnotherSeedGivesAnotherOrderAndOtherDistortions) {
  const auto files = two_files();
  const auto shuffled = run_tutorial(files, {.seed = 7, .shuffle_buffer = 100});
  EXPECT_FALSE(run_tutorial(files, {.seed = 8, .shuffle_buffer = 100}) == shuffled);
  const auto distorted = run_tutorial(files, {.seed = 7, .distort = true});
  EXPECT_FALSE(run_tutorial(files, {.seed = 8, .distort = true}) == distorted);
  EXPECT_EQ(run_tutorial(files, {.seed = 8, .distort = true})[0].labels, distorted[0].labels);
}

TEST_F(TutorialBatches, EachEpochIsDistortedAnew) {
  const auto batches = run_tutorial(two_files(), {.batch_size = 100, .distort = true, .epochs = 2});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].labels, batches[1].labels);
  EXPECT_FALSE(batches[0].pixels == batches[1].pixels);
}

TEST_F(TutorialBatches, ASavedPlaceGoesOnWithTheSameBytes) {
  const auto files = two_files();
  Cifar10TutorialOptions options{
      .batch_size = 16, .shuffle_buffer = 50, .distort = true, .epochs = 3};
  const auto all = run_tutorial(files, options);
  const Dataset<ImageBatch> batches = cifar10_tutorial_batches(files, options);
  Iterator<ImageBatch> first = batches.iterate();
  for (int i = 0; i < 9; ++i) ASSERT_NE(first.next(), nullptr);  // in the second epoch
  const std::string state = first.state();

  options.threads = 3;
  const Dataset<ImageBatch> again = cifar10_tutorial_batches(files, options);
  Iterator<ImageBatch> second = again.iterate();
  second.restore(state);
  std::vector<Bytes> rest;
  while (const ImageBatch* batch = second.next()) rest.push_back(bytes_of(*batch));
  EXPECT_TRUE(rest == std::vector<Bytes>(all.begin() + 9, all.end()));
}

TEST_F(TutorialBatches, APlaceInOtherBatchesIsRefused) {
  const auto files = two_files();
  const std::string state = cifar10_tutorial_batches(files, {.distort = true}).iterate().state();
  const auto refusal = [&](const Cifar10TutorialOptions& options) -> std::string {
    Iterator<ImageBatch> iterator = cifar10_tutorial_batches(files, options).iterate();
    try {
      iterator.restore(state);
    } catch (const Error& error) {
      return error.reason();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({.distort = true}), "accepted");
  EXPECT_THAT(refusal({}), HasSubstr("max_brightness=63, min_contrast=0.2, max_contrast=1.8"));
  EXPECT_THAT(refusal({.distort = true, .layout = Layout::nchw}), HasSubstr("layout=nchw"));
  EXPECT_THAT(refusal({.batch_size = 64, .distort = true}), HasSubstr("batch_size=64"));
}

TEST_F(TutorialBatches, ShardsDealTheWholeBatch) {
  const auto files = two_files();
  Cifar10TutorialOptions options{.batch_size = 20, .shuffle_buffer = 50, .distort = true};
  const auto whole = run_tutorial(files, options);
  ASSERT_EQ(whole.size(), 5u);
  constexpr size_t workers = 4;
  std::vector<Bytes> dealt(whole.size());
  for (size_t b = 0; b < whole.size(); ++b) {
    dealt[b].pixels.resize(whole[b].pixels.size());
    dealt[b].labels.resize(whole[b].labels.size());
  }
  options.batch_size = 20 / workers;
  options.num_shards = workers;
  for (size_t w = 0; w < workers; ++w) {
    options.shard_index = w;
    const auto share = run_tutorial(files, options);
    ASSERT_EQ(share.size(), whole.size());
    const size_t bytes = 24 * 24 * 3 * sizeof(float);
    for (size_t b = 0; b < share.size(); ++b) {
      for (size_t r = 0; r < share[b].labels.size(); ++r) {
        const size_t row = r * workers + w;
        dealt[b].labels.at(row) = share[b].labels[r];
        std::memcpy(&dealt[b].pixels.at(row * bytes), &share[b].pixels.at(r * bytes), bytes);
      }
    }
  }
  EXPECT_TRUE(dealt == whole);
}

TEST_F(TutorialBatches, IntegersAreRefusedBeforeAnythingIsRead) {
  EXPECT_THROW(cifar10_tutorial_batches({"nowhere"}, {.dtype = DType::uint8}), Error);
}

TEST_F(TutorialBatches, ADamagedRecordEndsTheIterationWithItsPlace) {
  const std::string path = directory / "odd";
  RecordWriter writer(posix_file_system(), path);
  writer.write(as_bytes(example_of(image_of(0))));
  writer.write(as_bytes(example_of({std::vector<uint8_t>(3072), 10})));
  writer.close();
  try {
    run_tutorial({path}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'label' is 10"));
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.offset(), 16 + example_of(image_of(0)).size());
  }
}

}  // namespace
}  // namespace recordpipe
