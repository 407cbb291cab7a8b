#include "recordpipe/trainer/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/trainer/checkpoint/safetensors.h"

namespace recordpipe {
namespace {

constexpr std::string_view step_key = "step", checksum_key = "crc32c", seed_key = "seed",
                           data_seed_key = "data_seed", plan_hash_key = "plan_hash",
                           accuracy_key = "validation_accuracy", loss_scale_key = "loss_scale",
                           good_steps_key = "loss_scale_good_steps", setting_prefix = "setting:";
constexpr std::string_view input_state_name = "input_pipeline/state";

std::string name_of(const VariableSpec& spec, Slot slot) {
  switch (slot) {
    case Slot::momentum:
      return spec.name + "/momentum";
    case Slot::average:
      return spec.name + "/ExponentialMovingAverage";
    default:
      return spec.name;
  }
}

// The saved slots of a variable.
std::vector<Slot> slots_of(const VariableSpec& spec, bool averages) {
  if (!spec.trained) return {Slot::value};
  if (!averages) return {Slot::value, Slot::momentum};
  return {Slot::value, Slot::momentum, Slot::average};
}

// The CRC-32C of a checkpoint's contents, in hexadecimal: the format has no checksum of its own. It
// covers the step first, then the other metadata and the tensors, each in the order of names.
class Checksum {
 public:
  explicit Checksum(const SafetensorsMetadata& metadata) {
    add(metadata.find(step_key)->second);
    for (const auto& [key, value] : metadata) {
      if (key == step_key || key == checksum_key) continue;
      add(key);
      add(value);
    }
  }

  void add_tensor(std::string_view name, std::string_view dtype, std::span<const uint64_t> shape,
                  std::span<const std::byte> data) {
    add(name);
    add(dtype);
    for (const uint64_t length : shape) add(std::to_string(length));
    crc_ = crc32c_extend(crc_, data);
  }
  std::string text() const { return fmt::format("{:08x}", crc_); }

 private:
  void add(std::string_view word) {
    crc_ = crc32c_extend(crc_, std::as_bytes(std::span(word)));
    crc_ = crc32c_extend(crc_, std::array{std::byte{0}});  // a terminator
  }

  uint32_t crc_ = 0;
};

SafetensorsMetadata metadata_of(const TrainingState& state, const Variables& variables) {
  SafetensorsMetadata metadata = {
      {std::string(step_key), std::to_string(state.step)},
      {std::string(seed_key), std::to_string(state.seed)},
      {std::string(data_seed_key), std::to_string(state.data_seed)},
      {std::string(plan_hash_key), fmt::format("{:016x}", state.plan_hash)}};
  for (const auto& [name, value] : state.settings)
    metadata[std::string(setting_prefix) + name] = value;
  if (state.validation_accuracy)
    metadata[std::string(accuracy_key)] = fmt::format("{}", *state.validation_accuracy);
  if (const std::optional<LossScale> scale = variables.loss_scale()) {
    metadata[std::string(loss_scale_key)] = fmt::format("{}", scale->scale);
    metadata[std::string(good_steps_key)] = std::to_string(scale->good_steps);
  }
  return metadata;
}

// A checkpoint's metadata, with a verified checksum. A file without a checksum was written by
// another program and is accepted; every file of write_checkpoint() also has a plan.
TrainingState checked_state(const SafetensorsReader& reader) {
  const auto fail = [&](const std::string& reason) {
    return Error({.kind = ErrorKind::corrupted, .path = reader.path(), .reason = reason});
  };
  const SafetensorsMetadata& metadata = reader.metadata();
  const auto number = [&]<class Number>(std::string_view key, Number otherwise,
                                        auto... base) -> Number {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return otherwise;
    const auto value = parse_number<Number>(found->second, base...);
    if (!value) throw fail("its " + std::string(key) + " is not a number");
    return *value;
  };
  if (!metadata.contains(step_key)) throw fail("not a checkpoint: its metadata have no step");
  TrainingState state = {.step = number(step_key, uint64_t{0}),
                         .seed = number(seed_key, uint64_t{0}),
                         .data_seed = number(data_seed_key, uint64_t{0}),
                         .plan_hash = number(plan_hash_key, uint64_t{0}, 16)};
  if (state.step > kMaxStep) throw fail(fmt::format("its step is above {}", kMaxStep));
  for (const auto& [key, value] : metadata)
    if (key.starts_with(setting_prefix)) state.settings[key.substr(setting_prefix.size())] = value;
  if (metadata.contains(accuracy_key)) {
    const double accuracy = number(accuracy_key, 0.0);
    if (!(accuracy >= 0 && accuracy <= 1)) throw fail("its validation accuracy is not in 0..1");
    state.validation_accuracy = accuracy;
  }

  const auto expected = metadata.find(checksum_key);
  if (expected == metadata.end()) {
    if (metadata.contains(plan_hash_key)) throw fail("its checksum is missing");
    return state;
  }
  Checksum checksum(metadata);
  for (const auto& [name, tensor] : reader.tensors())
    checksum.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
  if (checksum.text() != expected->second) throw fail("its checksum doesn't match");
  return state;
}

TrainingState state_in(const SafetensorsReader& reader) {
  TrainingState state = checked_state(reader);
  if (const auto found = reader.tensors().find(input_state_name); found != reader.tensors().end())
    state.input_state.assign(reinterpret_cast<const char*>(found->second.data.data()),
                             found->second.data.size());
  return state;
}

// Empty if the run that wrote the file didn't scale gradients.
std::optional<LossScale> loss_scale_in(const SafetensorsReader& reader) {
  const auto find = [&]<class Number>(std::string_view key, Number) -> std::optional<Number> {
    const auto found = reader.metadata().find(key);
    return found == reader.metadata().end() ? std::nullopt : parse_number<Number>(found->second);
  };
  if (!reader.metadata().contains(loss_scale_key)) return {};
  const auto factor = find(loss_scale_key, 0.0f);
  const auto good_steps = find(good_steps_key, uint32_t{0});
  const LossScale scale = {.scale = factor.value_or(0), .good_steps = good_steps.value_or(0)};
  if (!good_steps || !is_valid(scale))
    throw Error({.kind = ErrorKind::corrupted,
                 .path = reader.path(),
                 .reason = "its loss scale is not a power of two from 1 to 2^24 with a number of "
                           "steps"});
  return scale;
}

bool holds_averages(const SafetensorsReader& reader, const Variables& variables) {
  return std::ranges::any_of(variables.specs(), [&](const VariableSpec& spec) {
    return spec.trained && reader.tensors().contains(name_of(spec, Slot::average));
  });
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// Reads everything before it writes anything, so that damage found half-way leaves the variables
// unchanged.
void restore_from(const SafetensorsReader& reader, Variables& variables) {
  struct Value {
    VariableId id;
    Slot slot;
    std::vector<float> numbers;
  };
  const bool averages = holds_averages(reader, variables);
  const std::optional<LossScale> loss_scale = loss_scale_in(reader);
  std::vector<Value> values;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    for (const Slot slot : slots_of(spec, averages)) {
      const std::string name = name_of(spec, slot);
      values.push_back({id, slot, reader.read_floats(name, spec.shape)});
      if (!all_finite(values.back().numbers))
        throw Error({.kind = ErrorKind::corrupted,
                     .path = reader.path(),
                     .reason = name + " has values that are not finite"});
    }
  }
  const size_t others = reader.tensors().contains(input_state_name) ? 1 : 0;
  if (values.size() + others != reader.tensors().size())
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = reader.path(),
                 .reason = "holds " + std::to_string(reader.tensors().size() - others) +
                           " tensors, the network has " + std::to_string(values.size())});
  for (const Value& value : values)
    if (value.slot != Slot::average) variables.write(value.id, value.numbers, value.slot);
  // They start from the values if the checkpoint has no averages.
  if (averages || variables.has_averages()) variables.start_averages();
  for (const Value& value : values)
    if (value.slot == Slot::average) variables.write(value.id, value.numbers, value.slot);
  variables.set_loss_scale(loss_scale);
}

void require_finite(const std::string& path, const std::string& name,
                    std::span<const float> values) {
  if (all_finite(values)) return;
  throw VariableNotFiniteError({.kind = ErrorKind::invalid_argument,
                                .path = path,
                                .reason = "not saved: " + name + " has values that are not finite",
                                .hint = "use a lower learning rate or a longer warm-up"});
}

}  // namespace

void write_checkpoint(FileSystem& file_system, const std::string& path, const Variables& variables,
                      const TrainingState& state) {
  std::map<std::string, SafetensorsTensor> tensors;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    for (const Slot slot : slots_of(spec, variables.has_averages())) {
      const std::vector<float> values = variables.read(id, slot);
      require_finite(path, name_of(spec, slot), values);
      tensors.emplace(name_of(spec, slot), SafetensorsTensor::floats(spec.shape, values));
    }
  }
  if (!state.input_state.empty())
    tensors.emplace(input_state_name, SafetensorsTensor::bytes(state.input_state));
  SafetensorsMetadata metadata = metadata_of(state, variables);
  Checksum checksum(metadata);
  for (const auto& [name, tensor] : tensors)
    checksum.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
  metadata[std::string(checksum_key)] = checksum.text();
  write_safetensors(file_system, path, tensors, metadata);
}

TrainingState read_checkpoint(FileSystem& file_system, const std::string& path,
                              Variables& variables, std::optional<uint64_t> step) {
  const SafetensorsReader reader(file_system, path);
  TrainingState state = state_in(reader);
  if (step && state.step != *step)
    throw Error({.kind = ErrorKind::corrupted,
                 .path = path,
                 .reason = fmt::format("holds step {}, not {}", state.step, *step)});
  restore_from(reader, variables);
  return state;
}

TrainingState read_training_state(FileSystem& file_system, const std::string& path) {
  return state_in(SafetensorsReader(file_system, path));
}

}  // namespace recordpipe
