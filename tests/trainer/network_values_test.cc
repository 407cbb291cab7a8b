// Compares the layers and a training step of the tutorial's network with values computed by another
// program (data/make_network_values.py, which computes gradients in a different way).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/model/tutorial_cnn.h"
#include "recordpipe/trainer/training/trainer.h"
#include "trainer/backend/reference/conv2d.h"
#include "trainer/backend/reference/dense.h"
#include "trainer/backend/reference/local_response_norm.h"
#include "trainer/backend/reference/max_pool.h"
#include "trainer/backend/reference/relu.h"

namespace recordpipe {
namespace {

using nlohmann::json;
using Numbers = std::vector<double>;

const json& golden() {
  static const json values = json::parse(std::ifstream(RECORDPIPE_DATA_DIR "/network/values.json"));
  return values;
}

// A layer in the file, and the reference's results for its values.
struct Case {
  explicit Case(const json& values)
      : json_values(values),
        images(values["in"][0]),
        input{values["in"][1], values["in"][2], values["in"][3]},
        x(values["x"]),
        dy(values["dy"]),
        y(dy.size()),
        dx(x.size()) {}

  Numbers numbers(const char* name) const { return json_values[name]; }
  void expect(const char* name, const Numbers& got) const {
    EXPECT_THAT(got, testing::Pointwise(testing::DoubleNear(1e-12), numbers(name))) << name;
  }
  void expect_y_and_dx() const {
    expect("y", y);
    expect("dx", dx);
  }

  const json& json_values;
  const size_t images;
  const FeatureShape input;
  const Numbers x, dy;
  Numbers y, dx;
};

std::vector<Case> cases_of(const std::string& layer) {
  std::vector<Case> cases;
  for (const json& values : golden()["layers"])
    if (values["layer"].get<std::string>() == layer) cases.emplace_back(values);
  EXPECT_FALSE(cases.empty()) << layer;
  return cases;
}

TEST(NetworkValues, ConvolutionWithBiasAndReluIsThatOfNumPy) {
  for (Case& c : cases_of("conv2d")) {
    const FeatureShape output = {c.json_values["out"][1], c.json_values["out"][2],
                                 c.json_values["out"][3]};
    const reference::Conv2dShape shape = {
        c.images, c.input, output, c.json_values["kernel"], 1, c.json_values["padding"]};
    const Numbers w = c.numbers("w"), bias = c.numbers("bias");
    reference::conv2d_forward<double>(shape, c.x, w, bias, c.y);
    reference::relu_forward<double>(c.y);
    Numbers g = c.dy, dw(w.size()), dbias(bias.size());
    reference::relu_backward<double>(c.y, g);
    reference::conv2d_backward_data<double>(shape, w, g, c.dx);
    reference::conv2d_backward_weights<double>(shape, c.x, g, dw);
    reference::conv2d_backward_bias<double>(shape, g, dbias);
    c.expect_y_and_dx();
    c.expect("dw", dw);
    c.expect("dbias", dbias);
  }
}

TEST(NetworkValues, DenseLayerWithReluIsThatOfNumPy) {
  for (Case& c : cases_of("dense")) {
    const reference::DenseShape shape = {c.images, c.input.size(), c.json_values["out"][1]};
    const Numbers w = c.numbers("w"), bias = c.numbers("bias");
    reference::dense_forward<double>(shape, c.x, w, bias, c.y);
    reference::relu_forward<double>(c.y);
    Numbers g = c.dy, dw(w.size()), dbias(bias.size());
    reference::relu_backward<double>(c.y, g);
    reference::dense_backward<double>(shape, c.x, w, g, c.dx, dw, dbias);
    c.expect_y_and_dx();
    c.expect("dw", dw);
    c.expect("dbias", dbias);
  }
}

// The output shape and the padding are those that Network computes.
TEST(NetworkValues, MaxPoolingIsThatOfNumPy) {
  for (Case& c : cases_of("max_pool")) {
    Network network(c.input);
    const NodeId pool = network.max_pool(
        0, "pool", {.window = c.json_values["window"], .stride = c.json_values["stride"]});
    const auto& op = std::get<MaxPoolOp>(network.nodes()[pool].op);
    const FeatureShape& output = network.nodes()[pool].shape;
    ASSERT_EQ(c.images * output.size(), c.dy.size());
    const reference::MaxPoolShape shape = {c.images,  c.input,        output,         op.window,
                                           op.stride, op.padding_top, op.padding_left};
    reference::max_pool_forward<double>(shape, c.x, c.y);
    reference::max_pool_backward<double>(shape, c.x, c.dy, c.dx);
    c.expect_y_and_dx();
  }
}

TEST(NetworkValues, LocalResponseNormIsThatOfNumPy) {
  for (Case& c : cases_of("local_response_norm")) {
    const json& constants = c.json_values["constants"];
    const reference::LocalResponseNormShape shape = {
        c.images,          c.input.channels,   c.input.pixels(), constants["radius"],
        constants["bias"], constants["alpha"], constants["beta"]};
    reference::local_response_norm_forward<double>(shape, c.x, c.y);
    reference::local_response_norm_backward<double>(shape, c.x, c.dy, c.dx);
    c.expect_y_and_dx();
  }
}

// Returns the values of a stream, in [-scale, scale), like noise() in data/make_network_values.py.
std::vector<float> noise(uint32_t stream, float scale, size_t size) {
  std::vector<float> values(size);
  for (uint32_t i = 0; i < size; ++i) {
    uint32_t h = (i + stream * 0x9E3779B9u + 1) * 2654435761u;
    h ^= h >> 15;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    values[i] = (static_cast<float>(h >> 8) * 0x1p-23f - 1) * scale;
  }
  return values;
}

ImageBatch golden_images(const Network& network) {
  const json& step = golden()["tutorial_cnn_step"];
  const std::vector<int32_t> labels = step["labels"];
  const FeatureShape& shape = network.input_shape();
  const std::vector<float> pixels =
      noise(step["images"]["stream"], step["images"]["scale"], labels.size() * shape.size());
  ImageBatch batch;
  batch.reset({.height = shape.height,
               .width = shape.width,
               .channels = shape.channels,
               .dtype = DType::float32,
               .layout = Layout::nchw},
              labels.size());
  for (size_t image = 0; image < labels.size(); ++image) {
    batch.set_label(image, labels[image]);
    std::copy_n(pixels.begin() + static_cast<ptrdiff_t>(image * shape.size()), shape.size(),
                reinterpret_cast<float*>(batch.image_at(image)));
  }
  return batch;
}

// Compares `all` at the indices given in the file, with `tolerance` relative to the largest value.
void expect_sample(const json& variable, const char* what, const std::vector<float>& all,
                   double tolerance) {
  const std::vector<size_t> indices = variable["indices"];
  const Numbers expected = variable[what];
  double greatest = 0;
  for (const double value : expected) greatest = std::max(greatest, std::abs(value));
  for (size_t i = 0; i < indices.size(); ++i)
    EXPECT_NEAR(all.at(indices[i]), expected[i], tolerance * greatest)
        << what << " of " << variable["name"] << "[" << indices[i] << "]";
}

template <class Backend>
class NetworkValuesOnEachBackend : public testing::Test {};
using Backends = testing::Types<CpuBackend, ReferenceBackend<float>, ReferenceBackend<double>>;
TYPED_TEST_SUITE(NetworkValuesOnEachBackend, Backends);

// Compares logits, loss, penalty, gradients and updated variables. Only the weights of local3 and
// local4 decay.
TYPED_TEST(NetworkValuesOnEachBackend, AStepOfTheTutorialCnnIsThatOfNumPy) {
  const json& step = golden()["tutorial_cnn_step"];
  const double tolerance = std::is_same_v<TypeParam, ReferenceBackend<double>> ? 1e-6 : 5e-5;
  const Network network = tutorial_cnn();
  TypeParam backend;
  const auto variables = backend.make_variables(network);
  ASSERT_EQ(network.variables().size(), step["variables"].size());
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const json& variable = step["variables"][id];
    ASSERT_EQ(network.variables()[id].name, variable["name"].get<std::string>());
    variables->write(id,
                     noise(variable["stream"], variable["scale"], network.variables()[id].size()));
  }
  const ImageBatch batch = golden_images(network);
  const TrainerOptions options = {
      .batch_size = batch.size(), .momentum = 0, .weight_decay = step["weight_decay"]};
  const double loss = step["loss"], half_squared_norm = step["half_squared_norm"];
  EXPECT_NEAR(variables->half_squared_norm(), half_squared_norm, 1e-9 * half_squared_norm);
  {
    const auto runner = backend.make_runner(network, *variables, {.batch_size = batch.size()});
    runner->load(batch);
    runner->forward();
    const Numbers logits = step["logits"];
    const std::vector<float> got = runner->output(network.nodes().size() - 2);
    EXPECT_THAT(Numbers(got.begin(), got.end()),
                testing::Pointwise(testing::DoubleNear(tolerance), logits));
  }

  Trainer trainer(backend, network, *variables, options);
  EXPECT_NEAR(trainer.total_loss({.loss = loss}), loss + options.weight_decay * half_squared_norm,
              1e-9);
  const double learning_rate = step["learning_rate"];
  const StepResult result = trainer.step(batch, [&](uint64_t) { return learning_rate; });
  EXPECT_NEAR(result.batch.loss, loss, tolerance * loss);
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    const json& variable = step["variables"][id];
    expect_sample(variable, "gradients", variables->read(id, Slot::gradient), tolerance);
    expect_sample(variable, "updated", variables->read(id), tolerance);
  }
}

}  // namespace
}  // namespace recordpipe
