// A convolutional network as data: its nodes in order of computation, each with the shape of its
// output for one image, and the variables they use. A backend executes it.
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

// The output of a node for one image: channels × height × width.
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

// Initial values of a variable.
struct GlorotUniform {  // U(-a, a), a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)
  bool operator==(const GlorotUniform&) const = default;
};
struct TruncatedNormal {  // N(0, deviation²), truncated at two deviations
  double deviation;
  bool operator==(const TruncatedNormal&) const = default;
};
struct ConstantValue {
  double value;
  bool operator==(const ConstantValue&) const = default;
};
struct FanInUniform {  // U(-a, a), a = scale / sqrt(fan_in): with a scale of 1, PyTorch's default
  double scale = 1;
  bool operator==(const FanInUniform&) const = default;
};
// Of a convolution: filter o passes channel o of its input on unchanged (a 1 at the kernel's
// centre, zeros elsewhere). Filters beyond the input's channels are FanInUniform.
struct Dirac {
  bool operator==(const Dirac&) const = default;
};
struct GivenValues {  // for example whitening_weights(); as many as the variable has
  std::vector<float> values;
  bool operator==(const GivenValues&) const = default;
};
using Initializer =
    std::variant<GlorotUniform, TruncatedNormal, ConstantValue, FanInUniform, Dirac, GivenValues>;

struct VariableSpec {
  std::string name;  // "stage1/block0/conv1/weights"
  // Row-major. Convolutions [out][in][height][width], dense layers [out][in], the rest [channels].
  std::vector<size_t> shape;
  Initializer initializer = ConstantValue{0};
  // Has a gradient and a momentum, and is updated by steps unless it is frozen; otherwise a moving
  // statistic of batch norm, set by Runner::update_statistics().
  bool trained = true;
  // A factor for this variable's part of the weight decay; 0: no decay.
  double decay_factor = 1;
  // A factor of the learning rate for this variable; 0: it is always frozen.
  double rate_factor = 1;
  // The share of a run's steps after which the variable is frozen; 1: it never is. See
  // Trainer::set_total_steps().
  double trained_share = 1;
  // Updated by Muon instead of gradient descent: see Variables::apply_momentum(). The first axis of
  // the shape is the matrix's rows.
  bool orthogonal = false;

  size_t size() const;
  bool operator==(const VariableSpec&) const = default;
};

// The images of the batch, as value · scale + shift. A scale of 1 and a shift of 0 leave them
// unchanged, for images that the pipeline has already standardised.
struct InputOp {
  float scale = 1.0f / 128;
  float shift = -1;
};

// Cross-correlation with a square kernel and the same padding on all four sides; then the bias (one
// number per channel), if there is one, and ReLU, if requested.
struct Conv2dOp {
  NodeId input;
  VariableId weights;
  std::optional<VariableId> bias;
  bool relu;
  size_t kernel;
  size_t stride;
  size_t padding;
};

// Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167: (x - mean) / sqrt(variance + epsilon) ·
// gamma + beta; then, if requested, the residual is added and ReLU applied. Without gamma it is 1.
struct BatchNormOp {
  NodeId input;
  std::optional<NodeId> residual;
  bool relu;
  std::optional<VariableId> gamma;
  VariableId beta;
  VariableId moving_mean;
  VariableId moving_variance;
  double decay;  // moving = decay · moving + (1 - decay) · batch's (the unbiased variance)
  double epsilon;
};

// The shortcut of a residual block that reduces the image and adds channels: average pooling over
// stride × stride, then zero channels, half of them before and half after.
struct PoolAndPadOp {
  NodeId input;
  size_t stride;
};

struct GlobalAveragePoolOp {
  NodeId input;
};

// The maximum of each window × window pixels, every `stride` pixels. The paddings are the number of
// pixels by which the first window starts above and left of the image; pixels outside are ignored.
struct MaxPoolOp {
  NodeId input;
  size_t window;
  size_t stride;
  size_t padding_top;
  size_t padding_left;
};

enum class Activation {
  gelu,  // x · Φ(x), Φ being the standard normal distribution's (Hendrycks and Gimpel 2016,
         // https://arxiv.org/abs/1606.08415), without approximation by tanh
  silu,  // x / (1 + exp(-x)), also called swish
};
// An activation as a node of its own. ReLU is part of the layer before it.
struct ActivationOp {
  NodeId input;
  Activation function;
};

// Krizhevsky et al. 2012, https://papers.nips.cc/paper/4824, section 3.3: each value is divided by
// (bias + alpha · Σ x²)^beta, where the sum is over the values of the same pixel in the channels
// c - radius to c + radius.
struct LocalResponseNormOp {
  NodeId input;
  size_t radius;
  double bias;
  // The factor of each square. Libraries that divide alpha by the window size need alpha · (2
  // radius + 1).
  double alpha;
  double beta;
};

// weights · x + bias over all values of an image; then, if requested, ReLU.
struct DenseOp {
  NodeId input;
  VariableId weights;
  VariableId bias;
  bool relu;
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
  std::variant<InputOp, Conv2dOp, BatchNormOp, PoolAndPadOp, GlobalAveragePoolOp, MaxPoolOp,
               ActivationOp, LocalResponseNormOp, DenseOp, SoftmaxCrossEntropyOp>
      op;
};

// The nodes whose outputs a node reads, in the order of the op's members.
std::vector<NodeId> inputs_of(const NetworkNode& node);
// Its weights, biases and statistics, in the order of the op's members.
std::vector<VariableId> variables_of(const NetworkNode& node);

// The initial values of a layer's weights or biases, and what else VariableSpec says of them.
struct ParameterOptions {
  Initializer initializer = ConstantValue{0};
  double decay_factor = 1;
  double rate_factor = 1;
  double trained_share = 1;
  bool orthogonal = false;
};

struct Conv2dOptions {
  size_t filters = 16;
  size_t kernel = 3;
  size_t stride = 1;
  size_t padding = 1;  // (kernel - 1) / 2 keeps the image size if the stride is 1
  bool relu = false;
  ParameterOptions weights = {.initializer = GlorotUniform{}};
  std::optional<ParameterOptions> biases = {};  // empty: no bias
};

struct BatchNormOptions {
  bool relu = true;
  std::optional<NodeId> residual = {};
  double decay = 0.997;
  double epsilon = 1e-5;
  bool scale = true;  // false: no gamma
  ParameterOptions beta = {};
};

// As in TensorFlow. SAME: ceil(length / stride) windows; the pixels that they reach beyond the
// image are split evenly before and after it, an odd one after. VALID: only windows inside the
// image.
enum class Padding { same, valid };

struct MaxPoolOptions {
  size_t window = 3;
  size_t stride = 2;
  Padding padding = Padding::same;
};

struct LocalResponseNormOptions {
  size_t radius = 4;
  double bias = 1;
  double alpha = 0.001 / 9;
  double beta = 0.75;
};

struct DenseOptions {
  bool relu = false;
  ParameterOptions weights = {.initializer = GlorotUniform{}};
  ParameterOptions biases = {};
};

// Built node by node. A node can only read existing nodes, so the order of the nodes is a valid
// order of computation. Throws Error{invalid_argument} if shapes don't match.
class Network {
 public:
  // Node 0 is the input.
  explicit Network(FeatureShape input, const InputOp& op = {});

  NodeId conv2d(NodeId input, const std::string& name, const Conv2dOptions& options = {});
  NodeId batch_norm(NodeId input, const std::string& name, const BatchNormOptions& options = {});
  NodeId pool_and_pad(NodeId input, const std::string& name, size_t stride, size_t channels);
  NodeId global_average_pool(NodeId input, const std::string& name);
  NodeId max_pool(NodeId input, const std::string& name, const MaxPoolOptions& options = {});
  NodeId activation(NodeId input, const std::string& name, Activation function);
  NodeId local_response_norm(NodeId input, const std::string& name,
                             const LocalResponseNormOptions& options = {});
  NodeId dense(NodeId input, const std::string& name, size_t units,
               const DenseOptions& options = {});
  // Ends the network: the loss is its last node. Every other node must have a reader.
  NodeId softmax_cross_entropy(NodeId logits, double label_smoothing = 0);

  std::span<const NetworkNode> nodes() const { return nodes_; }
  std::span<const VariableSpec> variables() const { return variables_; }
  const FeatureShape& input_shape() const { return nodes_.front().shape; }
  // The number of classes, which are the channels of the loss's node.
  size_t classes() const { return nodes_.back().shape.channels; }

  // By node: whether the loss's gradient with respect to its output is needed, because it depends
  // on a trained variable with a rate factor above 0 that is not one of `frozen`.
  std::vector<bool> needed_gradients(std::span<const VariableId> frozen = {}) const;

  // The number of trained values.
  size_t parameter_count() const;
  // Multiply-adds of convolutions and dense layers in the forward pass of one image: in all nodes,
  // or in one.
  uint64_t multiply_adds() const;
  uint64_t multiply_adds(NodeId id) const;

 private:
  NodeId add(std::string name, FeatureShape shape, decltype(NetworkNode::op) op);
  VariableId add_variable(VariableSpec spec);
  VariableId add_parameter(std::string name, std::vector<size_t> shape,
                           const ParameterOptions& options);
  const FeatureShape& shape_of(NodeId id) const;

  std::vector<NetworkNode> nodes_;
  std::vector<VariableSpec> variables_;
};

}  // namespace recordpipe
