// Tests evaluate(): totals, the confusion matrix, the kept mistakes, and its interruption.
#include "recordpipe/trainer/training/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/model/resnet.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

// Returns a network whose logits are the three values of an image's only pixel.
Network pixel_is_logits() {
  Network network({3, 1, 1}, {.scale = 1, .shift = 0});
  network.softmax_cross_entropy(network.dense(0, "dense", 3));
  return network;
}

void pass_on(const Network& network, Variables& variables) {
  variables.write(id_of(network, "dense/weights"), std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

struct Pixel {
  int32_t label;
  std::vector<float> values;
};

ImageBatch batch_of(const std::vector<Pixel>& pixels, DType dtype = DType::float32) {
  ImageBatch batch;
  batch.reset({.height = 1, .width = 1, .channels = 3, .dtype = dtype}, pixels.size());
  for (size_t row = 0; row < pixels.size(); ++row) {
    batch.set_label(row, pixels[row].label);
    for (size_t channel = 0; channel < 3; ++channel) {
      const float value = pixels[row].values[channel];
      if (dtype == DType::uint8)
        batch.image_at(row)[channel] = static_cast<std::byte>(value);
      else
        reinterpret_cast<float*>(batch.image_at(row))[channel] = value;
    }
  }
  return batch;
}

Evaluation evaluate_pixels(Backend& backend, const std::vector<Pixel>& pixels,
                           const EvaluationOptions& options = {}, DType dtype = DType::float32) {
  const Network network = pixel_is_logits();
  const auto variables = backend.make_variables(network);
  pass_on(network, *variables);
  const auto batches =
      from_vector(pixels).batch(options.batch_size).map([dtype](const std::vector<Pixel>& rows) {
        return batch_of(rows, dtype);
      });
  return evaluate(backend, network, *variables, batches, options);
}

// With 11 images in batches of 4, each image counts once, and the last batch has 3.
TEST(Evaluate, CountsEachImageOnce) {
  const Network network = small_resnet();
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  randomize(*variables, 1);
  std::vector<size_t> images(11);
  for (size_t i = 0; i < images.size(); ++i) images[i] = i;

  BatchResult one_by_one;
  const auto runner =
      backend.make_runner(network, *variables, {.batch_size = 1, .mode = Mode::inference});
  for (const size_t image : images) {
    runner->load(random_batch(network, 1, image));
    const BatchResult result = runner->forward();
    one_by_one.loss += result.loss / 11;
    one_by_one.correct += result.correct;
  }

  const auto join = [&network](const std::vector<size_t>& rows) {
    ImageBatch joined;
    joined.reset(random_batch(network, 1, 0).format(), rows.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      const ImageBatch single = random_batch(network, 1, rows[row]);
      std::copy(single.bytes().begin(), single.bytes().end(), joined.image_at(row));
      joined.set_label(row, single.labels()[0]);
    }
    return joined;
  };
  const Dataset<ImageBatch> batches = from_vector(images).batch(4).map(join);
  size_t asked = 0;
  const auto stop = [&] { return ++asked == 3; };
  const EvaluationOptions until_stop = {.batch_size = 4, .stop = stop};
  EXPECT_EQ(error_of([&] { evaluate(backend, network, *variables, batches, until_stop); }).kind(),
            ErrorKind::cancelled);
  const BatchResult result =
      evaluate(backend, network, *variables, batches, {.batch_size = 4}).total;
  EXPECT_EQ(result.images, 11u);
  EXPECT_EQ(result.correct, one_by_one.correct);
  EXPECT_NEAR(result.loss, one_by_one.loss, 1e-5);
}

// The logits are the pixels of the image's upper row from left to right; a class has one of them.
TEST(Evaluate, AveragesLogitsOverFlippedAndTranslatedImages) {
  Network network({1, 2, 3}, {.scale = 1, .shift = 0});
  network.softmax_cross_entropy(network.dense(0, "dense", 3));
  ReferenceBackend<double> backend;
  const auto variables = backend.make_variables(network);
  std::vector<float> weights(18);
  for (size_t k = 0; k < 3; ++k) weights[k * 6 + k] = 1;
  variables->write(id_of(network, "dense/weights"), weights);
  for (const DType dtype : {DType::uint8, DType::float32})
    for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
      ImageBatch batch;
      batch.reset({.height = 2, .width = 3, .channels = 1, .dtype = dtype, .layout = layout}, 1);
      batch.set_label(0, 0);
      for (size_t i = 0; i < 6; ++i) {  // 1 2 3 / 4 5 6
        if (dtype == DType::uint8)
          batch.image_at(0)[i] = static_cast<std::byte>(i + 1);
        else
          reinterpret_cast<float*>(batch.image_at(0))[i] = static_cast<float>(i + 1);
      }
      const auto loss_with = [&](TestTimeAugmentation augmentation) {
        const Evaluation evaluation =
            evaluate(backend, network, *variables, from_vector(std::vector{batch}),
                     {.batch_size = 1, .augmentation = augmentation});
        return evaluation.total.loss;
      };
      const auto loss_of = [](double a, double b, double c) {
        return std::log(std::exp(a) + std::exp(b) + std::exp(c)) - a;
      };
      EXPECT_NEAR(loss_with(TestTimeAugmentation::none), loss_of(1, 2, 3), 1e-6);
      EXPECT_NEAR(loss_with(TestTimeAugmentation::flip), loss_of(2, 2, 2), 1e-6);
      // Down and right: the upper row is 5 4 5; up and left: 5 6 5.
      EXPECT_NEAR(loss_with(TestTimeAugmentation::flip_and_translate),
                  loss_of(0.5 * 2 + 0.25 * 5 + 0.25 * 5, 0.5 * 2 + 0.25 * 4 + 0.25 * 6,
                          0.5 * 2 + 0.25 * 5 + 0.25 * 5),
                  1e-6);
    }
}

TEST(Evaluate, AgreesWithTheRunner) {
  const Network network = resnet({.layers = 8, .input = {3, 8, 8}});
  CpuBackend cpu;
  ReferenceBackend<float> reference;
  for (Backend* backend : {static_cast<Backend*>(&cpu), static_cast<Backend*>(&reference)}) {
    const auto variables = backend->make_variables(network);
    randomize(*variables, 1);
    const std::vector<size_t> images = {8, 8, 8, 5};
    const auto batch_of_size = [&network](size_t size) {
      return random_batch(network, size, size);
    };
    const auto runner =
        backend->make_runner(network, *variables, {.batch_size = 8, .mode = Mode::inference});
    BatchResult expected;
    for (const size_t size : images) {
      runner->load(batch_of_size(size));
      const BatchResult result = runner->forward();
      expected.loss += result.loss * static_cast<double>(size) / 29;
      expected.correct += result.correct;
    }
    const Evaluation got = evaluate(*backend, network, *variables,
                                    from_vector(images).map(batch_of_size), {.batch_size = 8});
    EXPECT_NEAR(got.total.loss, expected.loss, 1e-12);
    EXPECT_EQ(got.total.correct, expected.correct);
    EXPECT_EQ(got.total.images, 29u);
    EXPECT_EQ(got.confusion.classes(), 11u);
    EXPECT_EQ(got.confusion.images(), 29u);
    EXPECT_EQ(got.confusion.correct(), expected.correct);
    EXPECT_EQ(got.mistakes.size(), 29 - expected.correct);
  }
}

TEST(Evaluate, TakesTheFirstOfEqualLogitsAsTheRunnerDoes) {
  CpuBackend cpu;
  ReferenceBackend<float> reference;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Backend* backend : {static_cast<Backend*>(&cpu), static_cast<Backend*>(&reference)}) {
    const Evaluation evaluation = evaluate_pixels(*backend, {{.label = 1, .values = {0, 2, 2}},
                                                             {.label = 2, .values = {0, 2, 2}},
                                                             {.label = 0, .values = {5, 5, 5}},
                                                             {.label = 2, .values = {1, nan, 2}},
                                                             {.label = 0, .values = {nan, 1, 2}}});
    EXPECT_EQ(evaluation.confusion.count(1, 1), 1u);
    EXPECT_EQ(evaluation.confusion.count(2, 1), 1u);
    EXPECT_GE(evaluation.confusion.count(0, 0), 1u);
    EXPECT_EQ(evaluation.confusion.images(), 5u);
    EXPECT_EQ(evaluation.confusion.correct(), evaluation.total.correct);
  }
}

TEST(Evaluate, KeepsTheMostConfidentMistakes) {
  CpuBackend backend;
  const std::vector<Pixel> pixels = {
      {.label = 0, .values = {0, 1, 0}},              // wrong, unsure
      {.label = 0, .values = {9, 0, 0}},              // right
      {.label = 1, .values = {9, 0, 0}},              // wrong, sure
      {.label = 2, .values = {0, 4, 0}},              // wrong
      {.label = 2, .values = {9, 0, 0}},              // wrong, with the same confidence as above
      {.label = 0, .values = {0, std::nanf(""), 0}},  // maybe wrong, without a probability
  };
  const Evaluation all = evaluate_pixels(backend, pixels, {.batch_size = 4});
  std::vector<uint64_t> order;
  for (const Mistake& mistake : all.mistakes) order.push_back(mistake.image);
  order.resize(4);
  EXPECT_EQ(order, (std::vector<uint64_t>{2, 4, 3, 0}));
  const Mistake& first = all.mistakes.front();
  EXPECT_EQ(first.label, 1u);
  EXPECT_EQ(first.prediction, 0u);
  EXPECT_NEAR(first.probability, 1 / (1 + 2 * std::exp(-9.0)), 1e-6);
  EXPECT_NEAR(all.mistakes[2].probability, std::exp(4.0) / (std::exp(4.0) + 2), 1e-6);

  const Evaluation two = evaluate_pixels(backend, pixels, {.batch_size = 1, .max_mistakes = 2});
  ASSERT_EQ(two.mistakes.size(), 2u);
  EXPECT_EQ(two.mistakes[0].image, 2u);
  EXPECT_EQ(two.mistakes[1].image, 4u);
  EXPECT_EQ(two.confusion.images(), 6u);
  EXPECT_TRUE(evaluate_pixels(backend, pixels, {.max_mistakes = 0}).mistakes.empty());
}

using Pixels = std::vector<uint8_t>;

TEST(Evaluate, KeepsMistakesToLookAt) {
  CpuBackend backend;
  const auto pixels = [&](std::vector<float> values, DType dtype) {
    return evaluate_pixels(backend, {{.label = 0, .values = std::move(values)}}, {}, dtype)
        .mistakes.at(0)
        .pixels;
  };
  EXPECT_EQ(pixels({3, 200, 7}, DType::uint8), (Pixels{3, 200, 7}));
  EXPECT_EQ(pixels({-2, 2, -1}, DType::float32), (Pixels{1, 255, 64}));
  EXPECT_EQ(pixels({0, 510, 256}, DType::float32), (Pixels{0, 255, 128}));
}

// The channels of a pixel are adjacent, for any layout of the batch.
TEST(Evaluate, KeepsPixelsInTheOrderOfImageFiles) {
  Network network({2, 1, 3}, {.scale = 1, .shift = 0});
  network.softmax_cross_entropy(network.dense(0, "dense", 2));
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    const auto batches = from_vector(std::vector<int>{0}).map([layout](int) {
      ImageBatch batch;
      batch.reset({.height = 1, .width = 3, .channels = 2, .dtype = DType::uint8, .layout = layout},
                  2);
      for (size_t row = 0; row < 2; ++row) {
        for (size_t i = 0; i < 6; ++i)
          batch.image_at(row)[i] = static_cast<std::byte>(10 * row + i);
        batch.set_label(row, 1);  // all logits are 0: predicted as 0
      }
      return batch;
    });
    const Evaluation evaluation = evaluate(backend, network, *variables, batches);
    ASSERT_EQ(evaluation.mistakes.size(), 2u);
    EXPECT_EQ(evaluation.mistakes[1].pixels, layout == Layout::nhwc
                                                 ? (Pixels{10, 11, 12, 13, 14, 15})
                                                 : (Pixels{10, 13, 11, 14, 12, 15}));
  }
}

TEST(Evaluate, HasNothingToSayOfNoImages) {
  CpuBackend backend;
  const Evaluation evaluation = evaluate_pixels(backend, {});
  EXPECT_EQ(evaluation.total.images, 0u);
  EXPECT_EQ(evaluation.confusion.images(), 0u);
  EXPECT_TRUE(evaluation.mistakes.empty());
}

TEST(Evaluate, CanBeStopped) {
  CpuBackend backend;
  const EvaluationOptions options = {.stop = [] { return true; }};
  EXPECT_EQ(error_of([&] {
              evaluate_pixels(backend, {{.label = 0, .values = {1, 2, 3}}}, options);
            }).kind(),
            ErrorKind::cancelled);
}

}  // namespace
}  // namespace recordpipe
