#include "trainer/backend/cuda/cuda_runner.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

#include "recordpipe/base/error.h"

namespace recordpipe::cuda {

CudaRunner::CudaRunner(std::shared_ptr<Device> device, const Network& network,
                       const CudaVariables& variables, const RunnerOptions& options,
                       const CudaBackendOptions& settings)
    : device_((device->activate(), std::move(device))),
      network_(network),
      options_(options),
      graphs_(settings.graphs),
      statistics_runs_(statistics_runs(network, variables)),
      new_statistics_(variables.statistics_size() * sizeof(float)),
      context_{.device = *device_,
               .variables = variables,
               .new_statistics = new_statistics_.as<float>(),
               .mode = options.mode,
               .tf32 = settings.precision == CudaPrecision::tf32,
               .measure_algorithms = settings.measure_algorithms},
      result_(sizeof(LossSums)),
      zeros_(sizeof(uint32_t)) {
  const Element element = element_of(settings.precision);
  const NodeId loss = network_.nodes().size() - 1;
  const std::vector<bool> needed = network_.needed_gradients(options.frozen);
  for (NodeId node = 0; node < loss; ++node) {
    tensors_.push_back(
        std::make_unique<Tensor>(options.batch_size, network_.nodes()[node].shape, element));
    tensors_.back()->set_needs_gradient(needed[node]);
  }
  size_t counts = 1;
  for (const auto& tensor : tensors_)
    counts = std::max(counts, 1 + partial_counts_size(tensor->rows(), tensor->channels(), element));
  zero_counts_ = Buffer(counts * sizeof(uint32_t));
  upload_ = std::make_unique<Upload>(*device_, std::get<InputOp>(network_.nodes().front().op),
                                     *tensors_.front());
  for (NodeId node = 1; node < loss; ++node) layers_.push_back(make_layer(node));

  const auto& op = std::get<SoftmaxCrossEntropyOp>(network_.nodes()[loss].op);
  Tensor& logits = *tensors_[op.input];
  losses_ = Buffer((options.batch_size + 1) * sizeof(LossSums));
  loss_ = {.element = element,
           .images = logits.images(),
           .classes = static_cast<uint32_t>(network_.classes()),
           .channels = logits.channels(),
           .label_smoothing = op.label_smoothing,
           .logits = logits.data(),
           .labels = upload_->labels(),
           .batch_images = upload_->images(),
           .dlogits = nullptr,
           .of_images = losses_.as<LossSums>(),
           .result = losses_.as<LossSums>() + options.batch_size,
           .loss_scale = variables.device_loss_scale()};
  if (options.mode == Mode::training) {
    if (logits.needs_gradient()) {
      logits.claim_gradient();
      loss_.dlogits = logits.gradient();
    }
    for (size_t layer = layers_.size(); layer-- > 0;)
      if (needs_backward(layer)) layers_[layer]->prepare_backward();
  }
  device_->synchronize();
}

std::vector<CudaRunner::StatisticsRun> CudaRunner::statistics_runs(const Network& network,
                                                                   const CudaVariables& variables) {
  std::map<size_t, double> decays;  // by the offset of a variable
  for (const NetworkNode& node : network.nodes())
    if (const auto* norm = std::get_if<BatchNormOp>(&node.op))
      for (const VariableId id : {norm->moving_mean, norm->moving_variance})
        decays[static_cast<size_t>(variables.at(id) - variables.statistics())] = norm->decay;
  std::vector<StatisticsRun> runs;
  for (const auto& [begin, decay] : decays) {
    if (!runs.empty()) runs.back().end = begin;
    if (runs.empty() || runs.back().decay != decay) runs.push_back({begin, begin, decay});
  }
  if (!runs.empty()) runs.back().end = variables.statistics_size();
  return runs;
}

// Waits, because work in progress may still use the memory.
CudaRunner::~CudaRunner() { device_->finish(); }

std::unique_ptr<Layer> CudaRunner::make_layer(NodeId node) {
  Tensor& output = *tensors_[node];
  const auto make = [&]<class Op>(const Op& op) -> std::unique_ptr<Layer> {
    if constexpr (std::is_same_v<Op, InputOp> || std::is_same_v<Op, SoftmaxCrossEntropyOp>) {
      return nullptr;  // the first and the last node have no layer
    } else if constexpr (std::is_same_v<Op, BatchNormOp>) {
      Tensor* residual = op.residual ? tensors_[*op.residual].get() : nullptr;
      return cuda::make_layer(context_, op, *tensors_[op.input], residual, output);
    } else {
      return cuda::make_layer(context_, op, *tensors_[op.input], output);
    }
  };
  return std::visit(make, network_.nodes()[node].op);
}

void CudaRunner::load(const ImageBatch& batch) {
  check_batch(batch, network_, options_);
  device_->activate();
  upload_->send(batch);
  images_ = batch.size();
}

// The first launch is without a graph: initialisation inside libraries can't be captured.
void CudaRunner::start(Graph& graph, const std::function<void()>& work) {
  if (!graphs_ || !ran_) return work();
  if (!graph.captured()) graph.capture(device_->compute(), work);
  graph.launch(device_->compute());
}

void CudaRunner::start_forward() {
  context_.variables.convert_weights();
  for (const auto& layer : layers_) layer->forward();
  softmax_cross_entropy(device_->compute(), loss_);
  copy_from_device(result_.as<LossSums>(), loss_.result, sizeof(LossSums), device_->compute());
}

void CudaRunner::start_backward() {
  for (size_t layer = layers_.size(); layer-- > 0;)
    if (needs_backward(layer)) layers_[layer]->backward();
  context_.variables.convert_gradients();
}

BatchResult CudaRunner::forward() {
  launch();
  return wait_for_result();
}

void CudaRunner::launch() {
  device_->activate();
  start(forward_graph_, [this] { start_forward(); });
  result_is_there_.record(device_->compute());
  if (options_.mode == Mode::training) start(backward_graph_, [this] { start_backward(); });
  ran_ = true;
}

BatchResult CudaRunner::wait_for_result() const {
  device_->wait(result_is_there_);
  const LossSums& sums = *result_.as<LossSums>();
  return {
      .loss = sums.loss / static_cast<double>(images_), .correct = sums.correct, .images = images_};
}

void CudaRunner::backward() { require_training(options_); }

void CudaRunner::update_statistics() {
  require_training(options_);
  device_->activate();
  for (const StatisticsRun& run : statistics_runs_)
    move_statistics(device_->compute(), static_cast<uint32_t>(run.end - run.begin), run.decay,
                    new_statistics_.as<float>() + run.begin,
                    context_.variables.statistics() + run.begin);
}

std::vector<float> CudaRunner::output(NodeId node) const {
  device_->activate();
  const Tensor& tensor = *tensors_.at(node);
  std::vector<std::byte> bytes(tensor.bytes());
  device_->read(bytes.data(), tensor.data(), bytes.size());
  const size_t channels = tensor.shape().channels, pixels = tensor.shape().pixels();
  std::vector<float> values(images_ * channels * pixels);
  with_element(tensor.element(), [&]<class T>(T*) {
    const T* from = reinterpret_cast<const T*>(bytes.data());
    for (size_t image = 0; image < images_; ++image)
      for (size_t c = 0; c < channels; ++c)
        for (size_t p = 0; p < pixels; ++p)
          values[(image * channels + c) * pixels + p] =
              widen(from[(image * pixels + p) * tensor.channels() + c]);
  });
  return values;
}

// Only the count leaves the device: the outputs of a deep network take tens of megabytes.
size_t CudaRunner::count_zeros(NodeId node) const {
  device_->activate();
  const Tensor& tensor = *tensors_.at(node);
  auto* counts = zero_counts_.as<uint32_t>();
  cuda::count_zeros(device_->compute(),
                    {.element = tensor.element(),
                     .rows = static_cast<uint32_t>(images_ * tensor.shape().pixels()),
                     .channels = tensor.channels(),
                     .real_channels = static_cast<uint32_t>(tensor.shape().channels),
                     .values = tensor.data(),
                     .partial_counts = counts + 1,
                     .result = counts});
  device_->read(zeros_.as<uint32_t>(), counts, sizeof(uint32_t));
  return *zeros_.as<uint32_t>();
}

}  // namespace recordpipe::cuda
