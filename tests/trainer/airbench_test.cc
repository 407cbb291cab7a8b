// Tests the network of airbench94, and the whitening weights of its first convolution.
#include "recordpipe/trainer/model/airbench.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

// airbench94 has 1,973,736 trained values; ours has a bias of ten classes, and counts the whitening
// weights, which have a rate of 0.
TEST(Airbench, HasThePublishedSize) {
  const Network network = airbench();
  EXPECT_EQ(network.multiply_adds(), 118'147'360u);
  EXPECT_EQ(network.classes(), 10u);
  size_t trained = 0;
  for (const VariableSpec& variable : network.variables())
    if (variable.trained && variable.rate_factor > 0) trained += variable.size();
  EXPECT_EQ(trained, 24u + 9 * (24 * 64 + 64 * 64 + 64 * 256 + 3 * 256 * 256) + 2 * (64 + 2 * 256) +
                         256 * 10 + 10);
  EXPECT_THROW(airbench({.whitening = {1, 2, 3}}), Error);
}

// Smooth images: neighbouring pixels are alike, which whitening removes.
ImageBatch smooth_images(DType dtype, Layout layout) {
  ImageBatch batch;
  batch.reset({.height = 9, .width = 8, .dtype = dtype, .layout = layout}, 12);
  for (size_t image = 0; image < batch.size(); ++image) {
    Random random(derive_key(1, 0), 0, image);
    for (size_t i = 0; i < batch.format().values_per_image(); ++i) {
      const size_t channel = layout == Layout::nchw ? i / 72 : i % 3;
      const size_t pixel = layout == Layout::nchw ? i % 72 : i / 3;
      Random noise(derive_key(2, 0), image, pixel * 3 + channel);
      const auto value = static_cast<uint8_t>(100 + 15 * image + 40 * (channel == image % 3) +
                                              pixel + noise.below(30));
      if (dtype == DType::uint8)
        batch.image_at(image)[i] = static_cast<std::byte>(value);
      else
        reinterpret_cast<float*>(batch.image_at(image))[i] = value;
    }
  }
  return batch;
}

TEST(Whitening, MakesTheFirstConvolutionsOutputsUncorrelated) {
  const ImageBatch images = smooth_images(DType::uint8, Layout::nhwc);
  const std::vector<float> weights = whitening_weights(images, {}, /*epsilon=*/0);
  EXPECT_EQ(whitening_weights(smooth_images(DType::float32, Layout::nchw), {}, 0), weights);

  Network network({3, 9, 8});
  network.softmax_cross_entropy(network.dense(
      network.conv2d(0, "whiten",
                     {.filters = 24,
                      .kernel = 2,
                      .padding = 0,
                      .weights = {.initializer = GivenValues{weights}, .rate_factor = 0}}),
      "dense", 2));
  ReferenceVariables<double> variables(network.variables());
  initialize(variables, 1);
  const auto runner = ReferenceBackend<double>().make_runner(
      network, variables, {.batch_size = 12, .mode = Mode::inference});
  ImageBatch labelled = images;
  for (size_t image = 0; image < 12; ++image) labelled.set_label(image, 0);
  runner->load(labelled);
  runner->forward();
  const std::vector<float> output = runner->output(1);
  const size_t pixels = 8 * 7, patches = 12 * pixels;
  for (size_t a = 0; a < 24; ++a)
    for (size_t b = 0; b < 24; ++b) {
      double sum = 0;
      for (size_t patch = 0; patch < patches; ++patch) {
        const size_t at = patch / pixels * 24 * pixels + patch % pixels;
        sum += static_cast<double>(output[at + a * pixels]) *
               static_cast<double>(output[at + b * pixels]);
      }
      const double expected = a == b ? 1 : a % 12 == b % 12 ? -1 : 0;
      EXPECT_NEAR(sum / static_cast<double>(patches), expected, 1e-3) << a << ", " << b;
    }
  EXPECT_THROW(whitening_weights(ImageBatch()), Error);
}

}  // namespace
}  // namespace recordpipe
