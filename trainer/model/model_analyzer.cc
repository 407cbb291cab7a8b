#include "recordpipe/trainer/model/model_analyzer.h"

#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace recordpipe {
namespace {

constexpr const char* dtype = "float32";

// Sets the values that depend on the kind of a node.
struct Analyze {
  const Network& network;
  const NetworkNode& node;
  OperationCost& cost;

  void operator()(const InputOp& op) const {
    cost.kind = "input";
    if (op.scale != 1 || op.shift != 0) cost.flops = 2 * values();
  }
  void operator()(const Conv2dOp& op) const {
    cost.kind = "conv2d";
    add_product(op.bias.has_value(), op.relu);
  }
  void operator()(const BatchNormOp& op) const {
    cost.kind = "batch_norm";
    cost.flops = values() * (2 + (op.residual ? 1 : 0) + (op.relu ? 1 : 0));
  }
  void operator()(const PoolAndPadOp& op) const {
    cost.kind = "pool_and_pad";
    cost.flops = size_of(op.input);
  }
  void operator()(const GlobalAveragePoolOp& op) const {
    cost.kind = "global_average_pool";
    cost.flops = size_of(op.input);
  }
  void operator()(const MaxPoolOp& op) const {
    cost.kind = "max_pool";
    cost.flops = values() * (op.window * op.window - 1);
  }
  void operator()(const ActivationOp&) const {
    cost.kind = "activation";
    cost.flops = 4 * values();
  }
  void operator()(const LocalResponseNormOp& op) const {
    cost.kind = "local_response_norm";
    cost.flops = values() * (2 * op.radius + 5);
  }
  void operator()(const DenseOp& op) const {
    cost.kind = "dense";
    add_product(/*bias=*/true, op.relu);
  }
  void operator()(const SoftmaxCrossEntropyOp&) const {
    cost.kind = "softmax_cross_entropy";
    cost.output = {};
    cost.flops = 4 * values();
  }

 private:
  uint64_t values() const { return node.shape.size(); }
  uint64_t size_of(NodeId id) const { return network.nodes()[id].shape.size(); }

  void add_product(bool bias, bool relu) const {
    cost.flops = 2 * cost.multiply_adds + values() * ((bias ? 1 : 0) + (relu ? 1 : 0));
  }
};

std::string describe(std::span<const size_t> shape) {
  return fmt::format("({} {})", dtype, fmt::join(shape, "x"));
}

std::vector<size_t> dimensions(const FeatureShape& shape) {
  return {shape.channels, shape.height, shape.width};
}

}  // namespace

ModelAnalysis analyze_model(const Network& network) {
  ModelAnalysis analysis;
  ModelTotals& totals = analysis.totals;
  for (const VariableSpec& variable : network.variables()) {
    const size_t count = variable.size();
    const uint64_t bytes = count * sizeof(float);
    analysis.variables.push_back({.name = variable.name,
                                  .shape = variable.shape,
                                  .trained = variable.trained,
                                  .count = count,
                                  .bytes = bytes});
    totals.variables += count;
    totals.variable_bytes += bytes;
    if (!variable.trained) continue;
    totals.parameters += count;
    totals.parameter_bytes += bytes;
  }
  for (NodeId id = 0; id < network.nodes().size(); ++id) {
    const NetworkNode& node = network.nodes()[id];
    OperationCost cost;
    cost.name = node.name;
    cost.output = node.shape;
    cost.multiply_adds = network.multiply_adds(id);
    std::visit(Analyze{network, node, cost}, node.op);
    for (const VariableId variable : variables_of(node))
      if (network.variables()[variable].trained)
        cost.parameters += network.variables()[variable].size();
    cost.activation_bytes = cost.output.size() * sizeof(float);
    totals.activation_bytes += cost.activation_bytes;
    totals.multiply_adds += cost.multiply_adds;
    totals.flops += cost.flops;
    analysis.operations.push_back(std::move(cost));
  }
  return analysis;
}

std::string to_text(const ModelAnalysis& analysis) {
  std::string text;
  const auto line = [&]<class... T>(fmt::format_string<T...> format, T&&... values) {
    text += fmt::format(format, std::forward<T>(values)...) + "\n";
  };
  const auto heading = [&](const char* title) { line("---------\n{}\n---------", title); };

  heading("Variables: name (type shape) [size]");
  for (const VariableCost& variable : analysis.variables)
    line("{} {} [{}, bytes: {}{}]", variable.name, describe(variable.shape), variable.count,
         variable.bytes, variable.trained ? "" : ", not trained");
  const ModelTotals& totals = analysis.totals;
  line("Total size of variables: {}", totals.variables);
  line("Total bytes of variables: {}", totals.variable_bytes);
  line("Total size of trained variables: {}", totals.parameters);
  line("Total bytes of trained variables: {}", totals.parameter_bytes);

  heading("Operations of one image: name (kind) -> (type shape) [size]");
  for (const OperationCost& operation : analysis.operations)
    line("{} ({}) -> {} [{}, bytes: {}, multiply-adds: {}, FLOPs: {}, parameters: {}]",
         operation.name, operation.kind, describe(dimensions(operation.output)),
         operation.output.size(), operation.activation_bytes, operation.multiply_adds,
         operation.flops, operation.parameters);
  line("Total bytes of activations: {}", totals.activation_bytes);
  line("Total multiply-adds: {}", totals.multiply_adds);
  line("Total FLOPs: {}", totals.flops);
  return text;
}

std::string to_json(const ModelAnalysis& analysis) {
  using nlohmann::ordered_json;
  ordered_json variables = ordered_json::array(), operations = ordered_json::array();
  for (const VariableCost& variable : analysis.variables)
    variables.push_back({{"name", variable.name},
                         {"dtype", dtype},
                         {"shape", variable.shape},
                         {"count", variable.count},
                         {"bytes", variable.bytes},
                         {"trained", variable.trained}});
  for (const OperationCost& operation : analysis.operations)
    operations.push_back({{"name", operation.name},
                          {"kind", operation.kind},
                          {"dtype", dtype},
                          {"shape", dimensions(operation.output)},
                          {"activation_bytes", operation.activation_bytes},
                          {"multiply_adds", operation.multiply_adds},
                          {"flops", operation.flops},
                          {"parameters", operation.parameters}});
  const ModelTotals& totals = analysis.totals;
  const ordered_json json = {{"variables", variables},
                             {"operations", operations},
                             {"totals",
                              {{"variables", totals.variables},
                               {"variable_bytes", totals.variable_bytes},
                               {"parameters", totals.parameters},
                               {"parameter_bytes", totals.parameter_bytes},
                               {"activation_bytes", totals.activation_bytes},
                               {"multiply_adds", totals.multiply_adds},
                               {"flops", totals.flops}}}};
  return json.dump();
}

}  // namespace recordpipe
