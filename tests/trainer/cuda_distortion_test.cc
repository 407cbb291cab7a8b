// Tests that distortions on the GPU give the same bits as those of dataset/image.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/philox.h"
#include "tests/support/expect_error.h"
#include "trainer/backend/cuda/cuda_backend.h"

namespace recordpipe {
namespace {

using Colors = DrawnImages::Colors;

// Stored images with their labels and drawn distortions.
struct Drawn {
  ImageSize size;
  size_t channels;
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
  std::vector<CropFlipColor> distortions;

  // `spread`: the range of an image's values, at most 256.
  Drawn(size_t images, size_t image_channels, const ImageSize& image_size, uint32_t spread)
      : size(image_size),
        channels(image_channels),
        pixels(images * channels * size.height * size.width),
        labels(images),
        distortions(images) {
    Random random(derive_key(7, spread), 0, images);
    const uint32_t least = random.below(257 - spread);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(least + random.below(spread));
  }

  std::span<const uint8_t> image(size_t index) const {
    return std::span(pixels).subspan(index * channels * size.height * size.width,
                                     channels * size.height * size.width);
  }
  DrawnImages images(Colors colors) const {
    return {.size = size,
            .pixels = pixels,
            .labels = labels,
            .distortions = distortions,
            .colors = colors};
  }
};

// Reads back the images that a network receives, unchanged by default.
struct Eye {
  explicit Eye(const FeatureShape& input, size_t images, float scale = 1, float shift = 0)
      : network(input, {.scale = scale, .shift = shift}) {
    network.softmax_cross_entropy(network.dense(0, "dense", 2));
    variables = backend.make_variables(network);
    runner = backend.make_runner(network, *variables, {.batch_size = images});
  }

  std::vector<float> sees(const DrawnImages& images) {
    dynamic_cast<CudaDistortingRunner&>(*runner).load_drawn(images);
    return runner->output(0);
  }
  std::vector<float> sees(const ImageBatch& batch) {
    runner->load(batch);
    return runner->output(0);
  }

  CudaBackend backend;
  Network network;
  std::unique_ptr<Variables> variables;
  std::unique_ptr<Runner> runner;
};

TEST(CudaDistortion, CropsAndFlipsAsPadCropFlipDoes) {
  constexpr size_t images = 40;
  Drawn drawn(images, 3, {32, 32}, 256);
  ImageBatch batch;
  batch.reset({.dtype = DType::float32, .layout = Layout::nchw}, images);
  for (size_t i = 0; i < images; ++i) {
    Random random(derive_key(3, 1), 2, i);
    const PadCropFlip crop = PadCropFlip::draw(random, 4);
    drawn.distortions[i] = {.top = crop.top, .left = crop.left, .flip = crop.flip};
    pad_crop_flip(drawn.image(i), crop, batch.format(), batch.image_at(i));
    batch.set_label(i, 0);
  }
  // Unscaled, then scaled as for ResNet.
  for (const float scale : {1.0f, 1.0f / 128}) {
    Eye eye({3, 32, 32}, images, scale, scale == 1 ? 0 : -1);
    EXPECT_EQ(eye.sees(drawn.images(Colors::kept)), eye.sees(batch));
  }
}

TEST(CudaDistortion, ChangesColoursAsCropFlipColorDoes) {
  constexpr size_t images = 40;
  for (const size_t channels : {1u, 3u, 4u})
    for (const uint32_t spread : {256u, 5u, 1u})
      for (const Standardize standardize : {Standardize::no, Standardize::yes}) {
        SCOPED_TRACE(channels);
        SCOPED_TRACE(spread);
        const ImageSize size = {32, 31}, crop_size = {24, 25};
        Drawn drawn(images, channels, size, spread);
        ImageBatch batch;
        batch.reset({.height = crop_size.height,
                     .width = crop_size.width,
                     .channels = channels,
                     .dtype = DType::float32,
                     .layout = Layout::nchw},
                    images);
        for (size_t i = 0; i < images; ++i) {
          Random random(derive_key(3, 1), 2, i);
          drawn.distortions[i] = CropFlipColor::draw(random, size, crop_size);
          if (i % 4 == 0) drawn.distortions[i].top -= 30;  // partly outside the image
          crop_flip_color(drawn.image(i), size, drawn.distortions[i], batch.format(),
                          batch.image_at(i), standardize);
          batch.set_label(i, 0);
        }
        Eye eye({channels, crop_size.height, crop_size.width}, images);
        const bool yes = standardize == Standardize::yes;
        EXPECT_EQ(eye.sees(drawn.images(yes ? Colors::standardized : Colors::changed)),
                  eye.sees(batch));
      }
}

TEST(CudaDistortion, RefusesWhatDoesNotFit) {
  Eye eye({3, 8, 8}, 2);
  const auto refused = [&](Drawn drawn, Colors colors = Colors::changed) {
    return error_of([&] { eye.sees(drawn.images(colors)); }).kind();
  };
  EXPECT_EQ(refused(Drawn(2, 3, {17, 16}, 9)), ErrorKind::invalid_argument) << "too large";
  EXPECT_EQ(refused(Drawn(1, 3, {8, 8}, 9)), ErrorKind::invalid_argument) << "too few";
  EXPECT_EQ(refused(Drawn(2, 2, {8, 8}, 9)), ErrorKind::invalid_argument) << "other channels";
  Drawn drawn(2, 3, {8, 8}, 9);
  drawn.distortions.pop_back();
  EXPECT_EQ(refused(drawn), ErrorKind::invalid_argument) << "a distortion is missing";
  drawn.distortions.push_back({.contrast = 0});
  EXPECT_EQ(refused(drawn), ErrorKind::invalid_argument) << "no contrast";
  EXPECT_NO_THROW(eye.sees(drawn.images(Colors::kept)));
  drawn.labels[0] = 2;
  EXPECT_EQ(refused(drawn, Colors::kept), ErrorKind::invalid_argument) << "no such class";
}

}  // namespace
}  // namespace recordpipe
