// Runs the layers of this folder over a network's nodes.
#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/backend/trace_phases.h"
#include "trainer/backend/reference/activation.h"
#include "trainer/backend/reference/batch_norm.h"
#include "trainer/backend/reference/conv2d.h"
#include "trainer/backend/reference/dense.h"
#include "trainer/backend/reference/global_average_pool.h"
#include "trainer/backend/reference/local_response_norm.h"
#include "trainer/backend/reference/max_pool.h"
#include "trainer/backend/reference/pool_and_pad.h"
#include "trainer/backend/reference/relu.h"
#include "trainer/backend/reference/softmax_cross_entropy.h"

namespace recordpipe {
namespace {

template <class T>
class ReferenceRunner final : public Runner {
 public:
  ReferenceRunner(const Network& network, ReferenceVariables<T>& variables,
                  const RunnerOptions& options)
      : network_(network), variables_(variables), options_(options) {
    for (const NetworkNode& node : network_.nodes()) {
      Tensors tensors;
      tensors.output.resize(options.batch_size * node.shape.size());
      tensors.gradient.resize(tensors.output.size());
      tensors.mean.resize(node.shape.channels);
      tensors.variance.resize(node.shape.channels);
      tensors_.push_back(std::move(tensors));
    }
  }

  void load(const ImageBatch& batch) override {
    check_batch(batch, network_, options_);
    labels_.assign(batch.labels().begin(), batch.labels().end());

    const ImageFormat& format = batch.format();
    const size_t channels = format.channels, pixels = format.height * format.width;
    const std::span<T> x = output_of(NodeId{0});
    const InputOp& op = std::get<InputOp>(network_.nodes().front().op);
    const T scale = op.scale, shift = op.shift;
    const auto take = [&](auto values) {
      for (size_t b = 0; b < images(); ++b)
        for (size_t c = 0; c < channels; ++c)
          for (size_t p = 0; p < pixels; ++p) {
            const size_t nchw = (b * channels + c) * pixels + p;
            const size_t nhwc = (b * pixels + p) * channels + c;
            const auto value = static_cast<T>(values[format.layout == Layout::nchw ? nchw : nhwc]);
            x[nchw] = value * scale + shift;
          }
    };
    if (format.dtype == DType::uint8)
      take(batch.uint8s());
    else
      take(batch.floats());
  }

  BatchResult forward() override {
    TracePhases phases(trace_.get(), "forward");
    for (NodeId node = 0; node < network_.nodes().size(); ++node) {
      phases.begin(network_.nodes()[node].name);
      std::visit([&](const auto& op) { forward(node, op); }, network_.nodes()[node].op);
    }
    return result_;
  }

  void backward() override {
    require_training(options_);
    // The loss is the last node, and reads only the logits. Every other node has a later reader, so
    // the logits are the node before the loss; forward() has written their gradient already. Each
    // layer adds to the gradients of its inputs, so an input with several readers gets the sum.
    const NodeId loss = network_.nodes().size() - 1;
    for (NodeId node = 0; node + 1 < loss; ++node)
      std::fill(tensors_[node].gradient.begin(), tensors_[node].gradient.end(), T{0});
    TracePhases phases(trace_.get(), "backward");
    for (NodeId node = loss; node-- > 0;) {
      phases.begin(network_.nodes()[node].name);
      std::visit([&](const auto& op) { backward(node, op); }, network_.nodes()[node].op);
    }
  }

  void update_statistics() override {
    require_training(options_);
    for (NodeId node = 0; node < network_.nodes().size(); ++node) {
      const auto* op = std::get_if<BatchNormOp>(&network_.nodes()[node].op);
      if (!op) continue;
      const size_t replicas = options_.shared_statistics ? options_.shared_statistics->size() : 1;
      const size_t values_per_channel = replicas * images() * shape_of(node).pixels();
      reference::batch_norm_update_moving<T>(
          values_per_channel, op->decay, tensors_[node].mean, tensors_[node].variance,
          variables_.at(op->moving_mean), variables_.at(op->moving_variance));
    }
  }

  std::vector<float> output(NodeId node) const override {
    const std::span<const T> values = output_of(node);
    return {values.begin(), values.end()};
  }

  void trace_to(std::shared_ptr<ChromeTrace> trace) override { trace_ = std::move(trace); }

 private:
  // The tensors of a node, as [images][channels][height][width].
  struct Tensors {
    std::vector<T> output, gradient;
    std::vector<T> mean, variance;  // batch norm's, of the last forward()
  };

  size_t images() const { return labels_.size(); }  // in the loaded batch
  const FeatureShape& shape_of(NodeId node) const { return network_.nodes()[node].shape; }

  // The part that belongs to the loaded images.
  std::span<const T> output_of(NodeId node) const {
    return std::span(tensors_.at(node).output).first(images() * shape_of(node).size());
  }
  std::span<T> output_of(NodeId node) {
    return std::span(tensors_.at(node).output).first(images() * shape_of(node).size());
  }
  std::span<T> gradient_of(NodeId node) {
    return std::span(tensors_.at(node).gradient).first(images() * shape_of(node).size());
  }

  std::vector<T> gamma_of(const BatchNormOp& op) const {
    const std::span<const T> beta = variables_.at(op.beta);
    if (!op.gamma) return std::vector<T>(beta.size(), T{1});
    const std::span<const T> gamma = variables_.at(*op.gamma);
    return {gamma.begin(), gamma.end()};
  }

  // The mean over the processes that share batch statistics.
  std::vector<T> shared_mean(std::span<const T> values) const {
    if (!options_.shared_statistics) return {values.begin(), values.end()};
    std::vector<double> sums(values.begin(), values.end());
    options_.shared_statistics->all_reduce_sum(std::span<double>(sums));
    std::vector<T> means;
    for (const double sum : sums)
      means.push_back(
          static_cast<T>(sum / static_cast<double>(options_.shared_statistics->size())));
    return means;
  }

  // For each kind of node: find its tensors and call its layer.

  void forward(NodeId, const InputOp&) {}  // load() has written it
  void backward(NodeId, const InputOp&) {}

  void forward(NodeId node, const Conv2dOp& op) {
    const reference::Conv2dShape shape = {images(),  shape_of(op.input), shape_of(node),
                                          op.kernel, op.stride,          op.padding};
    const std::span<const T> bias = op.bias ? variables_.at(*op.bias) : std::span<T>();
    reference::conv2d_forward<T>(shape, output_of(op.input), variables_.at(op.weights), bias,
                                 output_of(node));
    if (op.relu) reference::relu_forward<T>(output_of(node));
  }

  void backward(NodeId node, const Conv2dOp& op) {
    const reference::Conv2dShape shape = {images(),  shape_of(op.input), shape_of(node),
                                          op.kernel, op.stride,          op.padding};
    if (op.relu) reference::relu_backward<T>(output_of(node), gradient_of(node));
    reference::conv2d_backward_data<T>(shape, variables_.at(op.weights), gradient_of(node),
                                       gradient_of(op.input));
    reference::conv2d_backward_weights<T>(shape, output_of(op.input), gradient_of(node),
                                          variables_.at(op.weights, Slot::gradient));
    if (op.bias)
      reference::conv2d_backward_bias<T>(shape, gradient_of(node),
                                         variables_.at(*op.bias, Slot::gradient));
  }

  void forward(NodeId node, const BatchNormOp& op) {
    const reference::BatchNormShape shape = {images(), shape_of(node).channels,
                                             shape_of(node).pixels(), op.relu, op.epsilon};
    const std::span<const T> x = output_of(op.input);
    const std::span<const T> residual = op.residual ? output_of(*op.residual) : std::span<T>();
    std::span<const T> mean = variables_.at(op.moving_mean);
    std::span<const T> variance = variables_.at(op.moving_variance);
    if (options_.mode == Mode::training) {
      auto& batch = tensors_[node];
      reference::batch_norm_mean<T>(shape, x, batch.mean);
      mean = batch.mean = shared_mean(batch.mean);
      reference::batch_norm_variance<T>(shape, x, mean, batch.variance);
      variance = batch.variance = shared_mean(batch.variance);
    }
    reference::batch_norm_forward<T>(shape, x, residual, mean, variance, gamma_of(op),
                                     variables_.at(op.beta), output_of(node));
  }

  void backward(NodeId node, const BatchNormOp& op) {
    const reference::BatchNormShape shape = {images(), shape_of(node).channels,
                                             shape_of(node).pixels(), op.relu, op.epsilon};
    std::vector<T> no_gamma(op.gamma ? 0 : shape.channels);
    const std::span<T> dgamma = op.gamma ? variables_.at(*op.gamma, Slot::gradient) : no_gamma;
    const std::span<T> dbeta = variables_.at(op.beta, Slot::gradient);
    reference::batch_norm_backward_parameters<T>(
        shape, output_of(op.input), output_of(node), gradient_of(node), tensors_[node].mean,
        tensors_[node].variance, op.residual ? gradient_of(*op.residual) : std::span<T>(), dgamma,
        dbeta);
    const std::vector<T> all_dgamma = shared_mean(dgamma), all_dbeta = shared_mean(dbeta);
    reference::batch_norm_backward_data<T>(
        shape, output_of(op.input), output_of(node), gradient_of(node), tensors_[node].mean,
        tensors_[node].variance, gamma_of(op), all_dgamma, all_dbeta, gradient_of(op.input));
  }

  void forward(NodeId node, const PoolAndPadOp& op) {
    reference::pool_and_pad_forward<T>({images(), shape_of(op.input), shape_of(node), op.stride},
                                       output_of(op.input), output_of(node));
  }

  void backward(NodeId node, const PoolAndPadOp& op) {
    reference::pool_and_pad_backward<T>({images(), shape_of(op.input), shape_of(node), op.stride},
                                        gradient_of(node), gradient_of(op.input));
  }

  void forward(NodeId node, const GlobalAveragePoolOp& op) {
    reference::global_average_pool_forward<T>(shape_of(op.input).pixels(), output_of(op.input),
                                              output_of(node));
  }

  void backward(NodeId node, const GlobalAveragePoolOp& op) {
    reference::global_average_pool_backward<T>(shape_of(op.input).pixels(), gradient_of(node),
                                               gradient_of(op.input));
  }

  void forward(NodeId node, const MaxPoolOp& op) {
    reference::max_pool_forward<T>({images(), shape_of(op.input), shape_of(node), op.window,
                                    op.stride, op.padding_top, op.padding_left},
                                   output_of(op.input), output_of(node));
  }

  void backward(NodeId node, const MaxPoolOp& op) {
    reference::max_pool_backward<T>({images(), shape_of(op.input), shape_of(node), op.window,
                                     op.stride, op.padding_top, op.padding_left},
                                    output_of(op.input), gradient_of(node), gradient_of(op.input));
  }

  void forward(NodeId node, const ActivationOp& op) {
    reference::activation_forward<T>(op.function, output_of(op.input), output_of(node));
  }

  void backward(NodeId node, const ActivationOp& op) {
    reference::activation_backward<T>(op.function, output_of(op.input), gradient_of(node),
                                      gradient_of(op.input));
  }

  void forward(NodeId node, const LocalResponseNormOp& op) {
    reference::local_response_norm_forward<T>(
        {images(), shape_of(node).channels, shape_of(node).pixels(), op.radius, op.bias, op.alpha,
         op.beta},
        output_of(op.input), output_of(node));
  }

  void backward(NodeId node, const LocalResponseNormOp& op) {
    reference::local_response_norm_backward<T>(
        {images(), shape_of(node).channels, shape_of(node).pixels(), op.radius, op.bias, op.alpha,
         op.beta},
        output_of(op.input), gradient_of(node), gradient_of(op.input));
  }

  void forward(NodeId node, const DenseOp& op) {
    reference::dense_forward<T>({images(), shape_of(op.input).size(), shape_of(node).channels},
                                output_of(op.input), variables_.at(op.weights),
                                variables_.at(op.bias), output_of(node));
    if (op.relu) reference::relu_forward<T>(output_of(node));
  }

  void backward(NodeId node, const DenseOp& op) {
    if (op.relu) reference::relu_backward<T>(output_of(node), gradient_of(node));
    reference::dense_backward<T>({images(), shape_of(op.input).size(), shape_of(node).channels},
                                 output_of(op.input), variables_.at(op.weights), gradient_of(node),
                                 gradient_of(op.input), variables_.at(op.weights, Slot::gradient),
                                 variables_.at(op.bias, Slot::gradient));
  }

  void forward(NodeId, const SoftmaxCrossEntropyOp& op) {
    const reference::LossResult loss =
        reference::softmax_cross_entropy<T>(network_.classes(), op.label_smoothing,
                                            output_of(op.input), labels_, gradient_of(op.input));
    result_ = {.loss = loss.loss, .correct = loss.correct, .images = images()};
  }

  void backward(NodeId, const SoftmaxCrossEntropyOp&) {}  // by forward()

  const Network network_;
  ReferenceVariables<T>& variables_;
  const RunnerOptions options_;
  std::vector<Tensors> tensors_;  // one for each node
  std::vector<int32_t> labels_;
  BatchResult result_;
  std::shared_ptr<ChromeTrace> trace_;
};

}  // namespace

template <class T>
std::unique_ptr<Variables> ReferenceBackend<T>::make_variables(const Network& network) {
  return std::make_unique<ReferenceVariables<T>>(network.variables());
}

template <class T>
std::unique_ptr<Runner> ReferenceBackend<T>::make_runner(const Network& network,
                                                         Variables& variables,
                                                         const RunnerOptions& options) {
  auto* own = dynamic_cast<ReferenceVariables<T>*>(&variables);
  check_runner(network, own, options);
  try {
    return std::make_unique<ReferenceRunner<T>>(network, *own, options);
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  }
}

template class ReferenceBackend<float>;
template class ReferenceBackend<double>;
template void reference::conv2d_forward(const Conv2dShape&, std::span<const double>,
                                        std::span<const double>, std::span<const double>,
                                        std::span<double>);

}  // namespace recordpipe
