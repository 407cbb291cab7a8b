#include "trainer/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "dataset/io/atomic_file.h"
#include "trainer/checkpoint/safetensors.h"

namespace recordpipe {
namespace {

constexpr std::string_view prefix = "checkpoint-", suffix = ".safetensors";
constexpr std::string_view step_key = "step";

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

// Reads everything before it writes anything: a checkpoint that turns out to be bad half-way leaves
// the variables as they were.
uint64_t restore_from(const SafetensorsReader& reader, Variables& variables) {
  const auto step_text = reader.metadata().find(step_key);
  const auto step = step_text == reader.metadata().end() ? std::optional<uint64_t>()
                                                         : parse_step(step_text->second);
  if (!step)
    throw Error({.kind = ErrorKind::corrupted,
                 .path = reader.path(),
                 .reason = "not a checkpoint: its metadata name no step"});

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
  return *step;
}

bool is_damage(ErrorKind kind) {
  return kind == ErrorKind::corrupted || kind == ErrorKind::truncated || kind == ErrorKind::io;
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
  std::map<std::string, SafetensorsFloats> tensors;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    tensors[spec.name] = {spec.shape, variables.read(id)};
    if (spec.trained)
      tensors[momentum_name(spec)] = {spec.shape, variables.read(id, Slot::momentum)};
  }
  const std::string path =
      directory_ + "/" + std::string(prefix) + std::to_string(step) + std::string(suffix);
  write_safetensors(file_system_, path, tensors, {{std::string(step_key), std::to_string(step)}});

  const std::vector<Entry> entries = list();
  for (size_t old = keep_; old < entries.size(); ++old) file_system_.remove(entries[old].path);
  return path;
}

std::optional<RestoredCheckpoint> CheckpointFolder::restore(Variables& variables) const {
  RestoredCheckpoint restored;
  for (const Entry& entry : list()) {
    restored.path = entry.path;
    try {
      restored.step = restore_from(SafetensorsReader(file_system_, entry.path), variables);
      return restored;
    } catch (const Error& error) {
      if (!is_damage(error.kind()))
        throw Error({.kind = error.kind(),
                     .path = error.path(),
                     .reason = error.reason(),
                     .hint = "is it another network's checkpoint? name another job folder, or the "
                             "network's own number of layers"});
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
