// Compares CIFAR-10's batches with a plain loop, and tests rejected arguments.
#include "recordpipe/cifar/cifar10_dataset.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/record/record_writer.h"
#include "tests/cifar/random_images.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Cifar10Dataset : public ::testing::Test {
 protected:
  TemporaryDirectory directory;

  std::string write(const std::string& name, uint64_t first, uint64_t count,
                    Compression compression = Compression::none) {
    return write_images(directory / name, first, count, compression);
  }

  std::string write_example(const ExampleBuilder& example) {
    const std::string path = directory / "odd.tfrecords";
    RecordWriter writer(posix_file_system(), path);
    writer.write(as_bytes(example_of(image_of(0))));
    writer.write(as_bytes(example.serialize()));
    writer.close();
    return path;
  }
};

std::vector<Bytes> run(const std::vector<std::string>& files, const Cifar10Options& options) {
  std::vector<Bytes> out;
  for (const ImageBatch& batch : cifar10_batches(files, options)) out.push_back(bytes_of(batch));
  return out;
}

// Computes the same batches with the naive pipeline, one image at a time.
std::vector<Bytes> run_plainly(uint64_t images, const Cifar10Options& options) {
  std::vector<Image> all;
  for (uint64_t i = 0; i < images; ++i) all.push_back(image_of(i));
  struct Row {
    Image image;
    PadCropFlip crop;
  };
  auto pipeline = naive::from_vector(all);
  if (options.shuffle_buffer > 0) pipeline = pipeline.shuffle(options.shuffle_buffer, options.seed);
  const auto rows = pipeline.repeat(options.epochs)
                        .map_with_random(options.seed, [&](const Image& image, Random& random) {
                          Row row{image, {}};
                          if (options.distort) row.crop = PadCropFlip::draw(random, 4);
                          return row;
                        });
  const ImageFormat format{.dtype = options.dtype, .layout = options.layout};
  std::vector<Bytes> out;
  for (const auto& batch : rows.batch(options.batch_size, options.drop_remainder).values()) {
    Bytes bytes;
    for (const Row& row : batch) {
      ImageBatch one;
      one.reset(format, 1);
      pad_crop_flip(row.image.pixels, row.crop, format, one.image_at(0), options.normalization);
      bytes.pixels.insert(bytes.pixels.end(), one.bytes().begin(), one.bytes().end());
      bytes.labels.push_back(row.image.label);
    }
    out.push_back(std::move(bytes));
  }
  return out;
}

TEST_F(Cifar10Dataset, TheSameBytesAtAnyThreadCountAsThePlainTwins) {
  const std::vector<std::string> files = {write("a", 0, 130), write("b", 130, 170)};
  const std::vector<std::string> zipped = {write("z", 0, 300, Compression::gzip)};
  for (const DType dtype : {DType::float32, DType::uint8}) {
    for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
      Cifar10Options options{.batch_size = 32,
                             .shuffle_buffer = 100,
                             .distort = true,
                             .epochs = 2,
                             .dtype = dtype,
                             .layout = layout};
      const auto expected = run_plainly(300, options);
      ASSERT_EQ(expected.size(), 19u);
      for (const size_t threads : {1, 2, 3, 4, 8, 16}) {
        options.threads = threads;
        for (const size_t prefetch : {0, 3}) {
          options.prefetch = prefetch;
          EXPECT_TRUE(run(files, options) == expected) << threads << " threads";
        }
      }
      EXPECT_TRUE(run(zipped, options) == expected) << "gzip";
    }
  }
}

// Each image is flipped in one of two epochs, some in the first one; the order and the crops
// differ.
TEST_F(Cifar10Dataset, FlipsEachImageInEverySecondEpoch) {
  const std::vector<std::string> files = {write("a", 0, 60)};
  const Cifar10Options options = {.batch_size = 1,
                                  .global_shuffle = true,
                                  .distort = true,
                                  .distortion = {.pad = 0, .alternating_flip = true},
                                  .epochs = 4,
                                  .dtype = DType::uint8,
                                  .layout = Layout::nchw};
  std::map<std::string, std::vector<size_t>> epochs_of;  // by image, flipped or not
  size_t element = 0;
  for (const ImageBatch& batch : cifar10_batches(files, options)) {
    const std::span<const uint8_t> pixels = batch.uint8s();
    epochs_of[std::string(pixels.begin(), pixels.end())].push_back(element++ / 60);
  }
  EXPECT_EQ(epochs_of.size(), 120u);
  size_t at_first = 0;
  for (const auto& [pixels, epochs] : epochs_of) {
    ASSERT_EQ(epochs.size(), 2u);
    EXPECT_EQ(epochs[1], epochs[0] + 2);
  }
  for (uint64_t i = 0; i < 60; ++i) {
    const Image image = image_of(i);
    at_first += epochs_of.at(std::string(image.pixels.begin(), image.pixels.end()))[0];
  }
  EXPECT_GT(at_first, 15u);
  EXPECT_LT(at_first, 45u);
}

TEST_F(Cifar10Dataset, NormalizesInEveryFloatingPointType) {
  const std::vector<std::string> files = {write("a", 0, 100)};
  Cifar10Options options{.batch_size = 32, .distort = true};
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    options.dtype = dtype;
    for (const Normalization& normalization :
         {Normalization{.scale = Normalization::kToUnit}, Normalization{.per_image = true}}) {
      options.normalization = normalization;
      EXPECT_TRUE(run(files, options) == run_plainly(100, options));
    }
  }
  options.dtype = DType::uint8;
  EXPECT_THROW(cifar10_batches(files, options), Error) << "before anything is read";
}

TEST_F(Cifar10Dataset, APlaceInOtherBatchesIsRefused) {
  const std::vector<std::string> files = {write("a", 0, 100)};
  const std::string state = cifar10_batches(files, {.distort = true}).iterate().state();
  const auto refusal = [&](const Cifar10Options& options) -> std::string {
    Iterator<ImageBatch> iterator = cifar10_batches(files, options).iterate();
    try {
      iterator.restore(state);
    } catch (const Error& error) {
      return error.reason();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({.distort = true}), "accepted");
  EXPECT_THAT(refusal({.distort = true, .dtype = DType::uint8}), HasSubstr("dtype=uint8"));
  EXPECT_THAT(refusal({.distort = true, .layout = Layout::nchw}), HasSubstr("layout=nchw"));
  EXPECT_THAT(refusal({.distort = true, .normalization = {.per_image = true}}),
              HasSubstr("per_image=true"));
  EXPECT_THAT(refusal({.distort = true, .normalization = {.mean = {128}}}),
              HasSubstr("scale=1, mean=[128, 0, 0, 0], stddev=[1, 1, 1, 1]"));
  EXPECT_THAT(refusal({}), HasSubstr("pad=4"));
}

TEST_F(Cifar10Dataset, EvaluationSeesEachImageOnceUndistorted) {
  const auto batches = run({write("eval", 0, 105)}, {.batch_size = 10});
  ASSERT_EQ(batches.size(), 11u);
  EXPECT_EQ(batches.back().labels.size(), 5u);
  EXPECT_TRUE(batches == run_plainly(105, {.batch_size = 10}));
}

TEST_F(Cifar10Dataset, AnotherSeedGivesOtherBytes) {
  const std::vector<std::string> files = {write("a", 0, 64)};
  Cifar10Options options{.shuffle_buffer = 64, .distort = true};
  const auto a = run(files, options);
  options.seed = 8;
  EXPECT_FALSE(run(files, options) == a);
}

TEST_F(Cifar10Dataset, ExamplesOfAnotherKindAreErrorsThatNameFileAndRecord) {
  const std::vector<uint8_t> pixels(3072), short_pixels(3071);
  const auto bytes = [](const std::vector<uint8_t>& v) { return std::as_bytes(std::span(v)); };
  const std::map<std::string, ExampleBuilder> cases = {
      {"no feature 'image'", ExampleBuilder().set_int64("label", 1)},
      {"no feature 'label'", ExampleBuilder().set_bytes("image", bytes(pixels))},
      {"'image' has 3071 bytes",
       ExampleBuilder().set_bytes("image", bytes(short_pixels)).set_int64("label", 1)},
      {"'image' is not one bytes value",
       ExampleBuilder().set_int64("image", 1).set_int64("label", 1)},
      {"'label' is not one int64 value",
       ExampleBuilder().set_bytes("image", bytes(pixels)).set_float("label", 1)},
      {"'label' is -1", ExampleBuilder().set_bytes("image", bytes(pixels)).set_int64("label", -1)},
      {"'label' is 10", ExampleBuilder().set_bytes("image", bytes(pixels)).set_int64("label", 10)},
  };
  for (const auto& [reason, example] : cases) {
    const std::string path = write_example(example);
    try {
      run({path}, {});
      ADD_FAILURE() << "accepted: " << reason;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(reason));
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.offset(), 16 + example_of(image_of(0)).size());
    }
  }
}

TEST_F(Cifar10Dataset, RecordsThatAreNoExamplesAreErrors) {
  const std::string path = directory / "odd.tfrecords";
  RecordWriter writer(posix_file_system(), path);
  const std::string example = example_of(image_of(0));
  writer.write(as_bytes(example + "\xff\xff not protobuf"));
  writer.close();
  try {
    run({path}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.offset(), 0u);  // of the record; the byte below is in the record's data,
                                    // after a tag of three bytes
    const std::string byte = "byte " + std::to_string(example.size() + 3) + " of the data";
    EXPECT_THAT(error.what(), HasSubstr(byte));
  }
}

// Together, several processes get the batches that a single process would get, with the same
// distortions.
TEST_F(Cifar10Dataset, BatchesOfAllWorkersAreDealtFromTheWholeBatch) {
  const std::string path = write("data.tfrecords", 0, 48);
  const Cifar10Options options = {
      .batch_size = 12, .shuffle_buffer = 20, .distort = true, .epochs = 2, .dtype = DType::uint8};
  const std::vector<Bytes> whole = run({path}, options);
  ASSERT_EQ(whole.size(), 8u);
  for (const size_t workers : {2u, 4u})
    for (size_t worker = 0; worker < workers; ++worker) {
      Cifar10Options own = options;
      own.batch_size = 12 / workers;
      own.num_shards = workers;
      own.shard_index = worker;
      const std::vector<Bytes> batches = run({path}, own);
      ASSERT_EQ(batches.size(), whole.size());
      for (size_t k = 0; k < batches.size(); ++k)
        for (size_t row = 0; row < own.batch_size; ++row) {
          const size_t image = row * workers + worker;
          EXPECT_EQ(batches[k].labels[row], whole[k].labels[image]);
          EXPECT_TRUE(std::equal(&batches[k].pixels[row * 3072],
                                 &batches[k].pixels[row * 3072] + 3072,
                                 &whole[k].pixels[image * 3072]));
        }
    }
}

TEST_F(Cifar10Dataset, FilesOfASubsetAreFoundWholeOrInShards) {
  const std::string dir = directory.path();
  const std::string eval = write("eval.tfrecords", 0, 1);
  EXPECT_THAT(cifar10_files(dir, Cifar10Subset::eval), ElementsAre(eval));

  const std::string one = write("train-00001-of-00002.tfrecords", 1, 1);
  EXPECT_THROW(cifar10_files(dir, Cifar10Subset::train), Error) << "a shard is missing";
  const std::string zero = write("train-00000-of-00002.tfrecords", 0, 2);
  EXPECT_THAT(cifar10_files(dir, Cifar10Subset::train), ElementsAre(zero, one));
  EXPECT_EQ(cifar10_count({zero, one}), 3u);

  write("train.tfrecords", 0, 1);
  EXPECT_THROW(cifar10_files(dir, Cifar10Subset::train), Error) << "which of them?";
  try {
    cifar10_files(dir, Cifar10Subset::validation);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.what(), HasSubstr("generate_cifar10_tfrecords"));
  }
  EXPECT_THROW(cifar10_files(directory / "nowhere", Cifar10Subset::train), Error);
  ASSERT_EQ(::mkfifo((directory / "validation.tfrecords").c_str(), 0600), 0);
  EXPECT_THROW(cifar10_files(dir, Cifar10Subset::validation), Error) << "it would wait forever";
}

TEST_F(Cifar10Dataset, CountsCompressedFilesToo) {
  EXPECT_EQ(cifar10_count({write("a", 0, 5), write("b", 5, 7, Compression::gzip)}), 12u);
}

}  // namespace
}  // namespace recordpipe
