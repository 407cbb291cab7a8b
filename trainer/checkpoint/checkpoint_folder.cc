#include "trainer/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/checksum/crc32c.h"
#include "dataset/io/atomic_file.h"
#include "trainer/checkpoint/safetensors.h"

namespace recordpipe {
namespace {

constexpr std::string_view prefix = "checkpoint-", suffix = ".safetensors";
constexpr std::string_view step_key = "step", checksum_key = "crc32c";

std::string momentum_name(const VariableSpec& spec) { return spec.name + "/momentum"; }

// The whole of `text` as a number.
std::optional<uint64_t> parse_step(std::string_view text) {
  uint64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return step;
}

// The step in a checkpoint's name; nothing for another file's.
std::optional<uint64_t> step_of(std::string_view name) {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix))
    return {};
  return parse_step(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
}

// The CRC-32C of all that a checkpoint says, in hexadecimal: the format has no checksum of its own.
class Checksum {
 public:
  explicit Checksum(std::string_view step) { add(step); }

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
    crc_ = crc32c_extend(crc_, std::array{std::byte{0}});  // where the word ends
  }

  uint32_t crc_ = 0;
};

// The step in a checkpoint's metadata, after its checksum was found right. A file without one was
// written by another program, and is believed.
uint64_t checked_step(const SafetensorsReader& reader) {
  const auto fail = [&](const std::string& reason) {
    return Error({.kind = ErrorKind::corrupted, .path = reader.path(), .reason = reason});
  };
  const auto text = reader.metadata().find(step_key);
  const auto step =
      text == reader.metadata().end() ? std::optional<uint64_t>() : parse_step(text->second);
  if (!step) throw fail("not a checkpoint: its metadata name no step");
  const auto expected = reader.metadata().find(checksum_key);
  if (expected == reader.metadata().end()) return *step;
  Checksum checksum(text->second);
  for (const auto& [name, tensor] : reader.tensors())
    checksum.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
  if (checksum.text() != expected->second) throw fail("its checksum doesn't fit");
  return *step;
}

// Reads everything before it writes anything: a checkpoint that turns out to be bad half-way leaves
// the variables as they were.
void restore_from(const SafetensorsReader& reader, Variables& variables) {
  struct Value {
    VariableId id;
    Slot slot;
    std::vector<float> numbers;
  };
  std::vector<Value> values;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    values.push_back({id, Slot::value, reader.read_floats(spec.name, spec.shape)});
    if (spec.trained)
      values.push_back({id, Slot::momentum, reader.read_floats(momentum_name(spec), spec.shape)});
  }
  if (values.size() != reader.tensors().size())
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = reader.path(),
                 .reason = "holds " + std::to_string(reader.tensors().size()) +
                           " tensors, the network has " + std::to_string(values.size())});
  for (const Value& value : values) variables.write(value.id, value.numbers, value.slot);
}

bool is_unreadable(ErrorKind kind) {
  return is_damage(kind) || kind == ErrorKind::io || kind == ErrorKind::unsupported;
}

bool is_another_networks(ErrorKind kind) {
  return kind == ErrorKind::not_found || kind == ErrorKind::invalid_argument;
}

void require_finite(const std::string& path, const std::string& name,
                    std::span<const float> values) {
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path,
               .reason = "not saved: " + name + " has grown beyond what a number can hold",
               .hint = "a lower learning rate, or a longer warm-up, keeps it finite"});
}

}  // namespace

CheckpointFolder::CheckpointFolder(FileSystem& file_system, std::string directory, size_t keep)
    : file_system_(file_system), directory_(std::move(directory)), keep_(keep) {
  if (keep == 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "at least one checkpoint must be kept"});
  file_system_.make_directories(directory_);
  lock_ = file_system_.lock(directory_ + "/.lock");
  remove_abandoned_partials(file_system_, directory_,
                            [](std::string_view name) { return step_of(name).has_value(); });
}

std::string CheckpointFolder::save(const Variables& variables, uint64_t step) {
  const std::string path =
      directory_ + "/" + std::string(prefix) + std::to_string(step) + std::string(suffix);
  std::map<std::string, SafetensorsFloats> tensors;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    tensors[spec.name] = {spec.shape, variables.read(id)};
    if (spec.trained)
      tensors[momentum_name(spec)] = {spec.shape, variables.read(id, Slot::momentum)};
  }
  const std::string step_text = std::to_string(step);
  Checksum checksum(step_text);
  for (const auto& [name, tensor] : tensors) {
    require_finite(path, name, tensor.values);
    checksum.add_tensor(name, "F32", tensor.shape, std::as_bytes(std::span(tensor.values)));
  }
  write_safetensors(
      file_system_, path, tensors,
      {{std::string(step_key), step_text}, {std::string(checksum_key), checksum.text()}});

  // Newer ones don't count: they were damaged, or this run would have gone on from them.
  size_t kept = 0;
  for (const Entry& entry : list())
    if (entry.step <= step && ++kept > keep_) file_system_.remove(entry.path);
  return path;
}

std::optional<RestoredCheckpoint> CheckpointFolder::restore(Variables& variables) const {
  RestoredCheckpoint restored;
  for (const Entry& entry : list()) {
    restored.path = entry.path;
    try {
      const SafetensorsReader reader(file_system_, entry.path);
      restored.step = checked_step(reader);
      restore_from(reader, variables);
      return restored;
    } catch (const Error& error) {
      if (is_another_networks(error.kind()))
        throw Error({.kind = error.kind(),
                     .path = error.path(),
                     .reason = error.reason(),
                     .hint = "is it another network's checkpoint? name another job folder, or the "
                             "network's own number of layers"});
      if (!is_unreadable(error.kind())) throw;
      restored.damaged.push_back(error);
    }
  }
  if (restored.damaged.empty()) return {};
  const Error& newest = restored.damaged.front();
  throw Error({.kind = newest.kind(),
               .path = newest.path(),
               .offset = newest.offset(),
               .reason = newest.reason(),
               .hint = "no checkpoint in this folder is whole: remove them to start anew"});
}

std::vector<CheckpointFolder::Entry> CheckpointFolder::list() const {
  std::vector<Entry> entries;
  for (const std::string& name : file_system_.list(directory_))
    if (const auto step = step_of(name)) entries.push_back({*step, directory_ + "/" + name});
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.step > b.step; });
  return entries;
}

}  // namespace recordpipe
