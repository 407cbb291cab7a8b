#include "trainer/backend/cuda/cuda_variables.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace recordpipe::cuda {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
}

// Variables start at multiples of 256 bytes, also in 16 bits. The gaps always contain zeros.
size_t with_gap(size_t size) { return (size + 127) / 128 * 128; }

}  // namespace

Element element_of(CudaPrecision precision) {
  return precision == CudaPrecision::bf16   ? Element::bfloat16
         : precision == CudaPrecision::fp16 ? Element::float16
                                            : Element::float32;
}

CudaVariables::CudaVariables(std::shared_ptr<Device> device, const Network& network,
                             const CudaBackendOptions& options)
    : Variables(network.variables()),
      device_(std::move(device)),
      element_(element_of(options.precision)),
      initial_loss_scale_(options.loss_scale),
      loss_scale_growth_interval_(options.loss_scale_growth_interval),
      layouts_(variable_layouts(network, element_)),
      offsets_(layouts_.size()) {
  device_->activate();
  for (VariableId id = 0; id < layouts_.size(); ++id)
    if (layouts_[id].is_weights) place(id);
  weights_ = trained_;
  for (VariableId id = 0; id < layouts_.size(); ++id)
    if (!layouts_[id].is_weights) place(id);
  if (trained_ > std::numeric_limits<uint32_t>::max()) fail_for_memory();

  values_ = Buffer(trained_ * sizeof(float));
  gradients_ = Buffer(trained_ * sizeof(float));
  momenta_ = Buffer(trained_ * sizeof(float));
  statistics_ = Buffer(statistics_size_ * sizeof(float));
  if (has_copies()) {
    weight_copies_ = Buffer(weights_ * size_of(element_));
    weight_gradients_ = Buffer(weights_ * size_of(element_));
  }
  for (Run& run : runs_) {
    run.first_square = squares_count_;
    squares_count_ += squares_size(static_cast<uint32_t>(run.end - run.begin));
  }
  squares_ = Buffer(squares_count_ * sizeof(double));

  std::vector<TrainedRange> ranges;
  for (VariableId id = 0; id < layouts_.size(); ++id)
    ranges.push_back(specs()[id].trained
                         ? TrainedRange{offsets_[id], offsets_[id] + layouts_[id].padded_size()}
                         : TrainedRange{});
  processor_ = std::make_unique<GradientProcessor>(*device_, ranges);

  for (VariableId id = 0; id < layouts_.size(); ++id)
    if (specs()[id].orthogonal)
      muons_.try_emplace(id, *device_, static_cast<uint32_t>(layouts_[id].padded_out),
                         static_cast<uint32_t>(layouts_[id].channels_and_pixels()));
  loss_scale_ = Buffer(sizeof(DeviceLossScale));
  write_loss_scale({.scale = scales_loss() ? initial_loss_scale_ : 1});
}

void CudaVariables::place(VariableId id) {
  const VariableSpec& spec = specs()[id];
  size_t& end = spec.trained ? trained_ : statistics_size_;
  offsets_[id] = end;
  end += with_gap(layouts_[id].padded_size());
  if (!spec.trained) return;
  if (runs_.empty() || runs_.back().decay_factor != spec.decay_factor ||
      runs_.back().rate_factor != spec.rate_factor || runs_.back().orthogonal || spec.orthogonal)
    runs_.push_back({.begin = offsets_[id],
                     .end = end,
                     .decay_factor = spec.decay_factor,
                     .rate_factor = spec.rate_factor,
                     .orthogonal = spec.orthogonal,
                     .first_square = 0});
  runs_.back().end = end;
}

void CudaVariables::require_made_for(const Device& device, const Network& network,
                                     const CudaBackendOptions& options) const {
  if (&device != device_.get()) refuse("the variables belong to another backend");
  if (element_of(options.precision) != element_) refuse("the variables have another precision");
  // Two networks may have variables of the same shapes but dense layers with different inputs.
  if (variable_layouts(network, element_) != layouts_)
    refuse("the variables belong to another network");
}

float* CudaVariables::at(VariableId id, Slot slot) const {
  require_slot(id, slot);
  const Buffer& buffer = !specs()[id].trained     ? statistics_
                         : slot == Slot::value    ? values_
                         : slot == Slot::gradient ? gradients_
                         : slot == Slot::momentum ? momenta_
                                                  : averages_;
  return buffer.as<float>() + offsets_[id];
}

const void* CudaVariables::weights(VariableId id) const {
  return has_copies() ? weight_copies_.as<std::byte>() + offsets_[id] * size_of(element_)
                      : static_cast<const void*>(at(id));
}

void* CudaVariables::weights_gradient(VariableId id) const {
  return has_copies() ? weight_gradients_.as<std::byte>() + offsets_[id] * size_of(element_)
                      : static_cast<void*>(at(id, Slot::gradient));
}

void CudaVariables::convert_weights() const {
  if (has_copies())
    copy_weights(device_->compute(), static_cast<uint32_t>(weights_), values_.as<float>(), element_,
                 weight_copies_.data());
}

void CudaVariables::convert_gradients() const {
  if (has_copies())
    copy_gradients(device_->compute(), static_cast<uint32_t>(weights_), element_,
                   weight_gradients_.data(), device_loss_scale(), gradients_.as<float>());
}

std::vector<float> CudaVariables::read(VariableId id, Slot slot) const {
  device_->activate();
  std::vector<float> device_order(layouts_[id].padded_size());
  device_->read(device_order.data(), at(id, slot), device_order.size() * sizeof(float));
  return from_device_order(layouts_[id], device_order);
}

void CudaVariables::write(VariableId id, std::span<const float> values, Slot slot) {
  float* to = at(id, slot);
  require_size(id, values.size());
  device_->activate();
  std::vector<float> device_order(layouts_[id].padded_size());
  to_device_order(layouts_[id], values, device_order);
  device_->write(to, device_order.data(), device_order.size() * sizeof(float));
}

std::optional<LossScale> CudaVariables::loss_scale() const {
  if (!scales_loss()) return {};
  device_->activate();
  DeviceLossScale scale;
  device_->read(&scale, loss_scale_.data(), sizeof(scale));
  return LossScale{.scale = scale.scale, .good_steps = scale.good_steps};
}

void CudaVariables::set_loss_scale(const std::optional<LossScale>& scale) {
  if (scale && !is_valid(*scale)) refuse("the loss scale must be a power of two from 1 to 2^24");
  if (!scales_loss()) return;
  device_->activate();
  write_loss_scale(scale.value_or(LossScale{.scale = initial_loss_scale_}));
}

void CudaVariables::write_loss_scale(const LossScale& scale) {
  const DeviceLossScale on_device = {
      .scale = scale.scale, .inverse = 1 / scale.scale, .good_steps = scale.good_steps};
  device_->write(loss_scale_.data(), &on_device, sizeof(on_device));
}

void CudaVariables::apply_momentum(const MomentumOptions& options) {
  device_->activate();
  const Stream stream = device_->compute();
  auto* scale = loss_scale_.as<DeviceLossScale>();
  if (scales_loss())
    find_overflow(stream, gradients_.as<float>(), static_cast<uint32_t>(trained_), scale);
  std::vector<std::pair<size_t, size_t>> frozen;  // their begin and end
  for (const VariableId id : options.frozen)
    if (specs()[id].trained)
      frozen.emplace_back(offsets_[id], offsets_[id] + with_gap(layouts_[id].padded_size()));
  std::ranges::sort(frozen);
  auto next = frozen.begin();
  for (const auto& [id, muon] : muons_)
    if (!is_in(options.frozen, id)) update_by_muon(id, options);
  for (Run run : runs_) {
    for (; next != frozen.end() && next->first < run.end; ++next) {
      Run before = run;
      before.end = next->first;
      update(before, options);
      run.begin = next->second;
    }
    update(run, options);
  }
  if (scales_loss()) adapt_loss_scale(stream, loss_scale_growth_interval_, scale);
}

void CudaVariables::update(const Run& run, const MomentumOptions& options) {
  if (run.orthogonal) return;
  update_with_momentum(
      device_->compute(),
      {.size = static_cast<uint32_t>(run.end - run.begin),
       .values = values_.as<float>() + run.begin,
       .momenta = momenta_.as<float>() + run.begin,
       .gradients = gradients_.as<float>() + run.begin,
       .learning_rate = static_cast<float>(options.learning_rate * run.rate_factor),
       .momentum = static_cast<float>(options.momentum),
       .weight_decay = static_cast<float>(options.weight_decay * run.decay_factor),
       .nesterov = options.nesterov,
       .loss_scale = device_loss_scale()});
}

void CudaVariables::update_by_muon(VariableId id, const MomentumOptions& options) {
  const VariableSpec& spec = specs()[id];
  muons_.at(id).apply(
      {.size = 0,
       .values = at(id),
       .momenta = at(id, Slot::momentum),
       .direction = nullptr,
       .gradients = at(id, Slot::gradient),
       .learning_rate = static_cast<float>(options.learning_rate * spec.rate_factor),
       .momentum = static_cast<float>(options.muon_momentum),
       .rows = static_cast<float>(spec.shape.front()),
       .squares = nullptr,
       .loss_scale = device_loss_scale()});
}

void CudaVariables::process_gradients(const GradientOptions& options) {
  device_->activate();
  processor_->process(options, specs(), values_.as<float>(), gradients_.as<float>());
}

std::span<const double> CudaVariables::gradient_norms() const {
  device_->activate();
  return processor_->norms();
}

void CudaVariables::start_averages() {
  device_->activate();
  if (!has_averages_) averages_ = Buffer(values_.bytes());
  has_averages_ = true;
  copy_on_device(averages_.data(), values_.data(), values_.bytes(), device_->compute());
}

void CudaVariables::update_averages(double decay) {
  require_averages();
  device_->activate();
  cuda::update_averages(device_->compute(), static_cast<uint32_t>(trained_),
                        static_cast<float>(1 - decay), values_.as<float>(), averages_.as<float>());
}

void CudaVariables::reset_to_averages() {
  require_averages();
  device_->activate();
  copy_on_device(values_.data(), averages_.data(), values_.bytes(), device_->compute());
}

double CudaVariables::half_squared_norm() const {
  device_->activate();
  for (const Run& run : runs_)
    sum_squares(device_->compute(), static_cast<uint32_t>(run.end - run.begin),
                values_.as<float>() + run.begin, squares_.as<double>() + run.first_square);
  std::vector<double> squares(squares_count_);
  device_->read(squares.data(), squares_.data(), squares.size() * sizeof(double));
  double sum = 0;
  for (const Run& run : runs_)
    for (size_t i = 0; i < squares_size(static_cast<uint32_t>(run.end - run.begin)); ++i)
      sum += run.decay_factor * squares[run.first_square + i];
  return sum / 2;
}

}  // namespace recordpipe::cuda
