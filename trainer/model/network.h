// A convolutional network as data: nodes in the order they are computed, each with the shape of
// what it gives for one image, and the variables they use. A backend makes it run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recordpipe {

// What a node gives for one image: channels × height × width.
struct FeatureShape {
  size_t channels = 1;
  size_t height = 1;
  size_t width = 1;

  size_t pixels() const { return height * width; }
  size_t size() const { return channels * height * width; }
  bool operator==(const FeatureShape&) const = default;
};

using NodeId = size_t;
using VariableId = size_t;

enum class Initializer {
  glorot_uniform,  // U(-a, a), a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)
  zeros,
  ones,
};

struct VariableSpec {
  std::string name;  // "stage1/block0/conv1/weights"
  // Row-major. Convolutions [out][in][height][width], dense layers [out][in], the rest [channels].
  std::vector<size_t> shape;
  Initializer initializer = Initializer::zeros;
  // Trained by gradient descent; the others are statistics that the forward pass keeps.
  bool trained = true;

  size_t size() const;
  bool operator==(const VariableSpec&) const = default;
};

// The images of the batch, as value / 128 - 1.
struct InputOp {};

// Cross-correlation without bias, the same padding on all four sides, square kernel.
struct Conv2dOp {
  NodeId input;
  VariableId weights;
  size_t kernel;
  size_t stride;
  size_t padding;
};

// Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167: (x - mean) / sqrt(variance + epsilon)
// · gamma + beta, then the residual is added and negative values are cut off, where asked for.
struct BatchNormOp {
  NodeId input;
  std::optional<NodeId> residual;
  bool relu;
  VariableId gamma;
  VariableId beta;
  VariableId moving_mean;
  VariableId moving_variance;
  double decay;  // moving = decay · moving + (1 - decay) · batch's
  double epsilon;
};

// The shortcut where a residual block shrinks the image and adds channels: average pooling over
// stride × stride, then zero channels, half of them before and half after.
struct PoolAndPadOp {
  NodeId input;
  size_t stride;
};

struct GlobalAveragePoolOp {
  NodeId input;
};

// weights · x + bias over all values of an image.
struct DenseOp {
  NodeId input;
  VariableId weights;
  VariableId bias;
};

// The mean over the batch of -Σ target · log softmax(x), where target is 1 - s + s / classes for
// the label and s / classes elsewhere, s being the label smoothing.
struct SoftmaxCrossEntropyOp {
  NodeId input;
  double label_smoothing;
};

struct NetworkNode {
  std::string name;
  FeatureShape shape;
  std::variant<InputOp, Conv2dOp, BatchNormOp, PoolAndPadOp, GlobalAveragePoolOp, DenseOp,
               SoftmaxCrossEntropyOp>
      op;
};

// Those whose output a node reads, in the order of its members.
std::vector<NodeId> inputs_of(const NetworkNode& node);

struct Conv2dOptions {
  size_t filters = 16;
  size_t kernel = 3;
  size_t stride = 1;
  size_t padding = 1;
};

struct BatchNormOptions {
  bool relu = true;
  std::optional<NodeId> residual = {};
  double decay = 0.997;
  double epsilon = 1e-5;
};

// Built node by node. A node can only read nodes that are there already, so their order is one in
// which they can be computed. Shapes that don't fit throw Error{invalid_argument}.
class Network {
 public:
  // Node 0 is the input.
  explicit Network(FeatureShape input);

  NodeId conv2d(NodeId input, const std::string& name, const Conv2dOptions& options = {});
  NodeId batch_norm(NodeId input, const std::string& name, const BatchNormOptions& options = {});
  NodeId pool_and_pad(NodeId input, const std::string& name, size_t stride, size_t channels);
  NodeId global_average_pool(NodeId input, const std::string& name);
  NodeId dense(NodeId input, const std::string& name, size_t units);
  // Ends the network: the loss is its last node, and every other node must have been read.
  NodeId softmax_cross_entropy(NodeId logits, double label_smoothing = 0);

  std::span<const NetworkNode> nodes() const { return nodes_; }
  std::span<const VariableSpec> variables() const { return variables_; }
  const FeatureShape& input_shape() const { return nodes_.front().shape; }
  // What the loss chooses from.
  size_t classes() const { return nodes_.back().shape.channels; }

  // How many numbers are trained.
  size_t parameter_count() const;
  // Multiply-adds of convolutions and dense layers in one image's forward pass.
  uint64_t multiply_adds() const;

 private:
  NodeId add(std::string name, FeatureShape shape, decltype(NetworkNode::op) op);
  VariableId add_variable(VariableSpec spec);
  const FeatureShape& shape_of(NodeId id) const;

  std::vector<NetworkNode> nodes_;
  std::vector<VariableSpec> variables_;
};

}  // namespace recordpipe
