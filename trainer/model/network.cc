#include "recordpipe/trainer/model/network.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

void require(bool condition, const std::string& name, const std::string& reason) {
  if (!condition)
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "layer " + name + ": " + reason});
}

std::string to_string(const FeatureShape& shape) {
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" +
         std::to_string(shape.width);
}

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>  // Clang before 17 needs the guide
Overloaded(Functions...)->Overloaded<Functions...>;

}  // namespace

size_t VariableSpec::size() const {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

std::vector<NodeId> inputs_of(const NetworkNode& node) {
  return std::visit(Overloaded{[](const InputOp&) { return std::vector<NodeId>{}; },
                               [](const BatchNormOp& op) {
                                 std::vector<NodeId> inputs = {op.input};
                                 if (op.residual) inputs.push_back(*op.residual);
                                 return inputs;
                               },
                               [](const auto& op) { return std::vector<NodeId>{op.input}; }},
                    node.op);
}

std::vector<VariableId> variables_of(const NetworkNode& node) {
  std::vector<VariableId> ids;
  const auto add = [&](std::optional<VariableId> id) {
    if (id) ids.push_back(*id);
  };
  if (const auto* conv = std::get_if<Conv2dOp>(&node.op)) {
    ids = {conv->weights};
    add(conv->bias);
  } else if (const auto* norm = std::get_if<BatchNormOp>(&node.op)) {
    add(norm->gamma);
    for (const VariableId id : {norm->beta, norm->moving_mean, norm->moving_variance}) add(id);
  } else if (const auto* dense = std::get_if<DenseOp>(&node.op)) {
    ids = {dense->weights, dense->bias};
  }
  return ids;
}

Network::Network(FeatureShape input, const InputOp& op) { add("input", input, op); }

NodeId Network::conv2d(NodeId input, const std::string& name, const Conv2dOptions& options) {
  const FeatureShape in = shape_of(input);
  require(options.filters > 0 && options.kernel > 0 && options.stride > 0, name,
          "filters, kernel and stride must be positive");
  require(options.kernel <= std::min(in.height, in.width) + 2 * options.padding, name,
          "a kernel of " + std::to_string(options.kernel) + " doesn't fit into " + to_string(in));
  const auto outputs = [&](size_t length) {
    return (length + 2 * options.padding - options.kernel) / options.stride + 1;
  };
  const VariableId weights = add_parameter(
      name + "/weights", {options.filters, in.channels, options.kernel, options.kernel},
      options.weights);
  std::optional<VariableId> bias;
  if (options.biases) bias = add_parameter(name + "/biases", {options.filters}, *options.biases);
  return add(name, {options.filters, outputs(in.height), outputs(in.width)},
             Conv2dOp{.input = input,
                      .weights = weights,
                      .bias = bias,
                      .relu = options.relu,
                      .kernel = options.kernel,
                      .stride = options.stride,
                      .padding = options.padding});
}

NodeId Network::batch_norm(NodeId input, const std::string& name, const BatchNormOptions& options) {
  const FeatureShape shape = shape_of(input);
  if (options.residual)
    require(shape_of(*options.residual) == shape, name,
            "the residual is " + to_string(shape_of(*options.residual)) + ", the input " +
                to_string(shape));
  const std::vector<size_t> per_channel = {shape.channels};
  const auto statistic = [&](const char* suffix, double value) {
    return add_variable({.name = name + "/" + suffix,
                         .shape = per_channel,
                         .initializer = ConstantValue{value},
                         .trained = false});
  };
  std::optional<VariableId> gamma;
  if (options.scale)
    gamma = add_parameter(name + "/gamma", per_channel, {.initializer = ConstantValue{1}});
  BatchNormOp op = {.input = input,
                    .residual = options.residual,
                    .relu = options.relu,
                    .gamma = gamma,
                    .beta = add_parameter(name + "/beta", per_channel, options.beta),
                    .moving_mean = statistic("moving_mean", 0),
                    .moving_variance = statistic("moving_variance", 1),
                    .decay = options.decay,
                    .epsilon = options.epsilon};
  return add(name, shape, op);
}

NodeId Network::pool_and_pad(NodeId input, const std::string& name, size_t stride,
                             size_t channels) {
  const FeatureShape in = shape_of(input);
  require(stride > 0 && in.height % stride == 0 && in.width % stride == 0, name,
          to_string(in) + " can't be divided by the stride " + std::to_string(stride));
  require(channels >= in.channels && (channels - in.channels) % 2 == 0, name,
          "channels must grow by an even number");
  return add(name, {channels, in.height / stride, in.width / stride},
             PoolAndPadOp{.input = input, .stride = stride});
}

NodeId Network::global_average_pool(NodeId input, const std::string& name) {
  return add(name, {.channels = shape_of(input).channels}, GlobalAveragePoolOp{.input = input});
}

NodeId Network::max_pool(NodeId input, const std::string& name, const MaxPoolOptions& options) {
  const FeatureShape in = shape_of(input);
  const size_t window = options.window, stride = options.stride;
  require(window > 0 && stride > 0, name, "window and stride must be positive");
  const bool valid = options.padding == Padding::valid;
  require(!valid || window <= std::min(in.height, in.width), name,
          "a window of " + std::to_string(window) + " doesn't fit into " + to_string(in));
  const auto outputs = [&](size_t length) { return (length - (valid ? window : 1)) / stride + 1; };
  const auto padding_before = [&](size_t length) {
    const size_t reach = (outputs(length) - 1) * stride + window;
    return reach > length ? (reach - length) / 2 : 0;
  };
  return add(name, {in.channels, outputs(in.height), outputs(in.width)},
             MaxPoolOp{.input = input,
                       .window = window,
                       .stride = stride,
                       .padding_top = padding_before(in.height),
                       .padding_left = padding_before(in.width)});
}

NodeId Network::activation(NodeId input, const std::string& name, Activation function) {
  return add(name, shape_of(input), ActivationOp{.input = input, .function = function});
}

NodeId Network::local_response_norm(NodeId input, const std::string& name,
                                    const LocalResponseNormOptions& options) {
  require(options.bias > 0 && options.alpha >= 0, name,
          "the bias must be positive and alpha not negative, to exclude a division by zero");
  return add(name, shape_of(input),
             LocalResponseNormOp{.input = input,
                                 .radius = options.radius,
                                 .bias = options.bias,
                                 .alpha = options.alpha,
                                 .beta = options.beta});
}

NodeId Network::dense(NodeId input, const std::string& name, size_t units,
                      const DenseOptions& options) {
  require(units > 0, name, "units must be positive");
  const VariableId weights =
      add_parameter(name + "/weights", {units, shape_of(input).size()}, options.weights);
  const VariableId bias = add_parameter(name + "/biases", {units}, options.biases);
  return add(name, {.channels = units},
             DenseOp{.input = input, .weights = weights, .bias = bias, .relu = options.relu});
}

NodeId Network::softmax_cross_entropy(NodeId logits, double label_smoothing) {
  require(label_smoothing >= 0 && label_smoothing < 1, "loss", "label smoothing must be in [0, 1)");
  require(shape_of(logits).pixels() == 1, "loss", "logits must be a vector");
  std::vector<bool> read(nodes_.size(), false);
  read[logits] = true;
  for (const NetworkNode& node : nodes_)
    for (const NodeId input : inputs_of(node)) read[input] = true;
  for (NodeId id = 0; id < nodes_.size(); ++id)
    require(read[id], nodes_[id].name, "no other layer reads it");
  return add("loss", {.channels = shape_of(logits).channels},
             SoftmaxCrossEntropyOp{.input = logits, .label_smoothing = label_smoothing});
}

std::vector<bool> Network::needed_gradients(std::span<const VariableId> frozen) const {
  std::vector<bool> needed;
  for (const NetworkNode& node : nodes_)
    needed.push_back(std::ranges::any_of(inputs_of(node), [&](NodeId id) { return needed[id]; }) ||
                     std::ranges::any_of(variables_of(node), [&](VariableId id) {
                       return variables_[id].trained && variables_[id].rate_factor != 0 &&
                              std::ranges::count(frozen, id) == 0;
                     }));
  return needed;
}

size_t Network::parameter_count() const {
  size_t count = 0;
  for (const VariableSpec& variable : variables_)
    if (variable.trained) count += variable.size();
  return count;
}

uint64_t Network::multiply_adds() const {
  uint64_t count = 0;
  for (NodeId id = 0; id < nodes_.size(); ++id) count += multiply_adds(id);
  return count;
}

uint64_t Network::multiply_adds(NodeId id) const {
  const size_t pixels = shape_of(id).pixels();
  const auto& op = nodes_[id].op;
  if (const auto* conv = std::get_if<Conv2dOp>(&op))
    return variables_[conv->weights].size() * pixels;
  if (const auto* dense = std::get_if<DenseOp>(&op)) return variables_[dense->weights].size();
  return 0;
}

NodeId Network::add(std::string name, FeatureShape shape, decltype(NetworkNode::op) op) {
  require(shape.size() > 0, name, "the shape " + to_string(shape) + " is empty");
  require(nodes_.empty() || !std::holds_alternative<SoftmaxCrossEntropyOp>(nodes_.back().op), name,
          "nothing can follow the loss");
  nodes_.push_back({.name = std::move(name), .shape = shape, .op = std::move(op)});
  return nodes_.size() - 1;
}

VariableId Network::add_variable(VariableSpec spec) {
  for (const VariableSpec& other : variables_)
    require(other.name != spec.name, spec.name, "two variables have this name");
  variables_.push_back(std::move(spec));
  return variables_.size() - 1;
}

VariableId Network::add_parameter(std::string name, std::vector<size_t> shape,
                                  const ParameterOptions& options) {
  const auto* given = std::get_if<GivenValues>(&options.initializer);
  require(!std::holds_alternative<Dirac>(options.initializer) || shape.size() == 4, name,
          "only the weights of a convolution can be initialised by Dirac");
  VariableSpec spec = {.name = std::move(name),
                       .shape = std::move(shape),
                       .initializer = options.initializer,
                       .decay_factor = options.decay_factor,
                       .rate_factor = options.rate_factor,
                       .trained_share = options.trained_share,
                       .orthogonal = options.orthogonal};
  require(!given || given->values.size() == spec.size(), spec.name,
          "needs " + std::to_string(spec.size()) + " initial values");
  return add_variable(std::move(spec));
}

const FeatureShape& Network::shape_of(NodeId id) const {
  if (id >= nodes_.size())
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "there is no node " + std::to_string(id)});
  return nodes_[id].shape;
}

}  // namespace recordpipe
