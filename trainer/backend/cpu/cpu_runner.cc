#include "trainer/backend/cpu/cpu_runner.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <type_traits>
#include <variant>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/trace_phases.h"

namespace recordpipe {
namespace {

// The channel block size for fast convolutions on this processor: the first of 16, 8 and 1 for
// which oneDNN has a forward and a backward implementation other than its plain reference loops.
size_t preferred_lanes(const dnnl::engine& engine) {
  const auto is_fast = [&](onednn::Tag tag) {
    const onednn::Desc tensor = onednn::make_desc({1, 16, 8, 8}, tag);
    const onednn::Convolution convolution = {
        .input = tensor,
        .weights = onednn::make_desc({16, 16, 3, 3}, onednn::Tag::any),
        .output = tensor,
        .strides = {1, 1},
        .padding = {1, 1}};
    const auto is_reference = [](const auto& primitive) {
      return std::string_view(primitive.impl_info_str()).starts_with("ref");
    };
    try {
      const auto forward =
          onednn::convolution_forward(engine, dnnl::prop_kind::forward_training, convolution);
      return !is_reference(forward) &&
             !is_reference(onednn::convolution_backward_data(engine, convolution, forward)) &&
             !is_reference(onednn::convolution_backward_weights(engine, convolution, forward));
    } catch (const dnnl::error&) {
      return false;  // no implementation at all
    }
  };
  if (is_fast(onednn::Tag::nChw16c)) return 16;
  if (is_fast(onednn::Tag::nChw8c)) return 8;
  return 1;
}

// Whether only max pooling over windows of 2x2 without overlap or padding reads the node's output.
bool is_max_pooled(const Network& network, NodeId node) {
  const FeatureShape& shape = network.nodes()[node].shape;
  return std::ranges::all_of(network.nodes(), [&](const NetworkNode& reader) {
    const auto inputs = inputs_of(reader);
    if (std::ranges::count(inputs, node) == 0) return true;
    const auto* pool = std::get_if<MaxPoolOp>(&reader.op);
    return pool && pool->window == 2 && pool->stride == 2 &&
           reader.shape.height == shape.height / 2 && reader.shape.width == shape.width / 2;
  });
}

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

CpuRunner::CpuRunner(const Network& network, CpuVariables& variables, const RunnerOptions& options)
    : network_(network),
      options_(options),
      context_{.variables = variables,
               .mode = options.mode,
               .shared_statistics = options.shared_statistics,
               .engine = dnnl::engine(dnnl::engine::kind::cpu, 0),
               .stream = {}} {
  times_.resize(network_.nodes().size());
  context_.stream = dnnl::stream(context_.engine);
  lanes_ = preferred_lanes(context_.engine);
  for (NodeId node = 0; node < network_.nodes().size(); ++node) {
    tensors_.push_back(std::make_unique<CpuTensor>(options.batch_size, network_.nodes()[node].shape,
                                                   lanes_of(node)));
    layers_.push_back(make_layer(node));
  }
  if (options.mode != Mode::training) return;
  const std::vector<bool> needed = network_.needed_gradients(options.frozen);
  for (NodeId node = 0; node < needed.size(); ++node) {
    tensors_[node]->needs_gradient = needed[node];
    tensors_[node]->max_pooled = is_max_pooled(network_, node);
  }
  for (size_t layer = layers_.size(); layer-- > 0;)
    if (needed[layer]) layers_[layer]->prepare_backward(gradients_);
}

size_t CpuRunner::lanes_of(NodeId node) const {
  const auto& op = network_.nodes()[node].op;
  if (std::holds_alternative<Conv2dOp>(op) || std::holds_alternative<PoolAndPadOp>(op))
    return lanes_;
  if (std::holds_alternative<BatchNormOp>(op) || std::holds_alternative<MaxPoolOp>(op) ||
      std::holds_alternative<ActivationOp>(op) || std::holds_alternative<LocalResponseNormOp>(op))
    return tensors_[inputs_of(network_.nodes()[node]).front()]->lanes();
  return 1;  // images have three channels, and the outputs after the last pooling are matrices
}

std::unique_ptr<CpuLayer> CpuRunner::make_layer(NodeId node) {
  CpuTensor& output = *tensors_[node];
  const auto make = [&]<class Op>(const Op& op) -> std::unique_ptr<CpuLayer> {
    if constexpr (std::is_same_v<Op, InputOp>) {
      auto layer = std::make_unique<CpuInput>(op, output);
      input_ = layer.get();
      return layer;
    } else if constexpr (std::is_same_v<Op, SoftmaxCrossEntropyOp>) {
      auto layer = std::make_unique<CpuLoss>(op, *tensors_[op.input]);
      loss_ = layer.get();
      return layer;
    } else if constexpr (std::is_same_v<Op, BatchNormOp>) {
      CpuTensor* residual = op.residual ? tensors_[*op.residual].get() : nullptr;
      return make_cpu_layer(context_, op, *tensors_[op.input], residual, output);
    } else {
      return make_cpu_layer(context_, op, *tensors_[op.input], output);
    }
  };
  return std::visit(make, network_.nodes()[node].op);
}

void CpuRunner::load(const ImageBatch& batch) {
  check_batch(batch, network_, options_);
  input_->load(batch);
  loss_->load(batch.labels());
  images_ = batch.size();
}

BatchResult CpuRunner::forward() {
  TracePhases phases(trace_.get(), "forward");
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    phases.begin(network_.nodes()[layer].name);
    times_[layer].forward += seconds([&] { layers_[layer]->forward(); });
  }
  return loss_->result();
}

void CpuRunner::backward() {
  require_training(options_);
  TracePhases phases(trace_.get(), "backward");
  for (size_t layer = layers_.size(); layer-- > 0;) {
    if (!tensors_[layer]->needs_gradient) continue;
    phases.begin(network_.nodes()[layer].name);
    times_[layer].backward += seconds([&] { layers_[layer]->backward(); });
  }
}

void CpuRunner::update_statistics() {
  require_training(options_);
  for (const auto& layer : layers_) layer->update_statistics();
}

std::vector<float> CpuRunner::output(NodeId node) const {
  return tensors_.at(node)->output_nchw(images_);
}

size_t CpuRunner::count_zeros(NodeId node) const { return tensors_.at(node)->count_zeros(images_); }

}  // namespace recordpipe
