// Tests images in sequences beside the same images as single ones. Their errors are tested in
// tests/python/tfds_sequence_images_test.py.
#include "dataset/tfds/sequence_images.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/tfds/batch.h"
#include "recordpipe/tfds/load.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/tfds/made_set.h"

namespace recordpipe::tfds {
namespace {

constexpr size_t kExamples = 23, kMaxImages = 4;

std::string png(size_t number) {
  const size_t height = 9 + number % 5, width = 8 + number % 7;
  std::vector<uint8_t> pixels(height * width * 3);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i * (number + 1));
  }
  return std::string(as_text(encode_png(pixels, height, width, 3)));
}

// Example i has i % kMaxImages images in "many", and image k of them as "k", too.
class SequenceImages : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> features{"many", sequence(image("[-1, -1, 3]"))};
    for (size_t k = 0; k < kMaxImages; ++k) {
      features.insert(features.end(), {std::to_string(k), image("[-1, -1, 3]")});
    }
    std::vector<std::string> examples;
    for (size_t i = 0; i < kExamples; ++i) {
      ExampleBuilder example;
      std::vector<std::string> files;
      for (size_t k = 0; k < kMaxImages; ++k) {
        files.push_back(png(i * kMaxImages + k));
        example.set_bytes(std::to_string(k), files.back());
      }
      std::vector<std::span<const std::byte>> many;
      for (size_t k = 0; k < i % kMaxImages; ++k) many.push_back(as_bytes(files[k]));
      example.set_bytes_list("many", many);
      examples.push_back(example.serialize());
    }
    write_set(folder.path(), dict(features), {{"train", {examples}}});
  }

  std::vector<Dict> batches(const ImageSpec& spec, size_t threads) const {
    // Of the other images, the files.
    const ExamplesCollator collator(read_features(folder.path()), {.decode_images = false}, {spec});
    const Info info = read_info(folder.path());
    std::vector<Dict> all;
    for (const ExamplesBatch& batch :
         draw_images(records(info, parse_split("train", info)).global_shuffle(3), collator.images())
             .batch(5, DropRemainder::no, collator)
             .with_options({.threads = threads})) {
      all.push_back(batch.columns);
    }
    return all;
  }

  TemporaryDirectory folder;
};

TEST_F(SequenceImages, AreThoseOfSingleImages) {
  for (const Distortion& distortion :
       {Distortion(RandomResizedCrop{.to = {5, 6}}), Distortion(ResizeAndCrop{ImageSize{5, 6}})}) {
    ImageSpec spec{.feature = "many",
                   .source = DecodeOptions{.channels = 3},
                   .distortion = distortion,
                   .normalization = Normalization{.scale = Normalization::kToUnit},
                   .layout = Layout::nchw,
                   .seed = 7};
    const std::vector<Dict> found = batches(spec, 3);
    EXPECT_EQ(batches(spec, 1), found);
    size_t images = 0;
    for (size_t k = 0; k + 1 < kMaxImages; ++k) {
      spec.feature = std::to_string(k);
      const std::vector<Dict> twins = batches(spec, 2);
      ASSERT_EQ(twins.size(), found.size());
      for (size_t b = 0; b < found.size(); ++b) {
        const RaggedArray& many = found[b].at("many").ragged();
        const Array& values = std::get<Array>(many.values);
        const Array& twin = twins[b].at(spec.feature).array();
        ASSERT_EQ(twin.type, values.type);
        const std::span<const float> all = values.values<float>(), ones = twin.values<float>();
        const size_t size = size_t{3} * 5 * 6;
        ASSERT_EQ(values.shape, (std::vector<size_t>{all.size() / size, 3, 5, 6}));
        for (size_t row = 0; row < many.size(); ++row) {
          const auto first = static_cast<size_t>(many.splits[0][row]) + k;
          if (first >= static_cast<size_t>(many.splits[0][row + 1])) continue;
          ++images;
          EXPECT_TRUE(
              std::ranges::equal(all.subspan(first * size, size), ones.subspan(row * size, size)));
        }
      }
    }
    EXPECT_EQ(images, 33u);
  }
}

TEST_F(SequenceImages, OfAnySizeAreRefused) {
  const Error error =
      error_of([&] { batches({.feature = "many", .source = DecodeOptions{.channels = 3}}, 1); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  const auto padded = [&] { batches({.feature = "many", .sizes = ImageSizes::padded}, 1); };
  EXPECT_EQ(error_of(padded).kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace recordpipe::tfds
