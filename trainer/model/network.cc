#include "trainer/model/network.h"

#include <functional>
#include <numeric>
#include <utility>

#include "dataset/base/error.h"

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

Network::Network(FeatureShape input) { add("input", input, InputOp{}); }

NodeId Network::conv2d(NodeId input, const std::string& name, const Conv2dOptions& options) {
  const FeatureShape in = shape_of(input);
  require(options.filters > 0 && options.kernel > 0 && options.stride > 0, name,
          "filters, kernel and stride must be positive");
  require(options.kernel <= std::min(in.height, in.width) + 2 * options.padding, name,
          "a kernel of " + std::to_string(options.kernel) + " doesn't fit into " + to_string(in));
  const auto outputs = [&](size_t length) {
    return (length + 2 * options.padding - options.kernel) / options.stride + 1;
  };
  const VariableId weights =
      add_variable({.name = name + "/weights",
                    .shape = {options.filters, in.channels, options.kernel, options.kernel},
                    .initializer = Initializer::glorot_uniform});
  return add(name, {options.filters, outputs(in.height), outputs(in.width)},
             Conv2dOp{.input = input,
                      .weights = weights,
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
  const auto variable = [&](const char* suffix, Initializer initializer, bool trained) {
    return add_variable({.name = name + "/" + suffix,
                         .shape = {shape.channels},
                         .initializer = initializer,
                         .trained = trained});
  };
  BatchNormOp op = {.input = input,
                    .residual = options.residual,
                    .relu = options.relu,
                    .gamma = variable("gamma", Initializer::ones, true),
                    .beta = variable("beta", Initializer::zeros, true),
                    .moving_mean = variable("moving_mean", Initializer::zeros, false),
                    .moving_variance = variable("moving_variance", Initializer::ones, false),
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

NodeId Network::dense(NodeId input, const std::string& name, size_t units) {
  require(units > 0, name, "units must be positive");
  const VariableId weights = add_variable({.name = name + "/weights",
                                           .shape = {units, shape_of(input).size()},
                                           .initializer = Initializer::glorot_uniform});
  const VariableId bias = add_variable({.name = name + "/biases", .shape = {units}});
  return add(name, {.channels = units}, DenseOp{.input = input, .weights = weights, .bias = bias});
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

size_t Network::parameter_count() const {
  size_t count = 0;
  for (const VariableSpec& variable : variables_)
    if (variable.trained) count += variable.size();
  return count;
}

uint64_t Network::multiply_adds() const {
  uint64_t count = 0;
  for (const NetworkNode& node : nodes_) {
    if (const auto* conv = std::get_if<Conv2dOp>(&node.op))
      count += variables_[conv->weights].size() * node.shape.pixels();
    if (const auto* dense = std::get_if<DenseOp>(&node.op))
      count += variables_[dense->weights].size();
  }
  return count;
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
    require(other.name != spec.name, spec.name, "there are two variables of this name");
  variables_.push_back(std::move(spec));
  return variables_.size() - 1;
}

const FeatureShape& Network::shape_of(NodeId id) const {
  if (id >= nodes_.size())
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "there is no node " + std::to_string(id)});
  return nodes_[id].shape;
}

}  // namespace recordpipe
