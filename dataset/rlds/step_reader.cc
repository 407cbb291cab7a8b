// Resolves the features of a row, and reads rows.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "dataset/rlds/kept_file.h"
#include "dataset/rlds/step_columns.h"
#include "dataset/rlds/step_values.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/rlds/steps.h"

namespace recordpipe::rlds {
std::vector<size_t> StepColumn::row_shape() const {
  std::vector<size_t> all;
  if (window) all.push_back(*window);
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

struct StepReader::State {
  ResolvedColumns resolved;
  std::shared_ptr<const EpisodeFiles> files;
  Pad pad = Pad::edge;

  std::span<const std::byte> unit(const Row& row, size_t leaf, uint64_t number,
                                  std::vector<std::byte>& scratch) const {
    if (const auto found = files->unit(row.place, leaf, number)) return *found;
    return parse_unit(row.record.data, resolved.leaves, leaf, row.place.steps, number, scratch);
  }

  // Sets the feature of a leaf of the episode.
  void set_leaf(const Row& row, size_t number, ExampleBuilder& example) const {
    const StepLeaf& leaf = resolved.leaves[number];
    std::deque<std::vector<std::byte>> scratch;  // units are valid until the feature is set
    if (leaf.kind == FeatureKind::bytes) {
      std::vector<std::span<const std::byte>> values;
      for (uint64_t i = 0; i < leaf.values; ++i) {
        values.push_back(unit(row, number, i, scratch.emplace_back()));
      }
      example.set_bytes_list(leaf.key, values);
      return;
    }
    const std::span<const std::byte> packed = unit(row, number, 0, scratch.emplace_back());
    if (leaf.kind == FeatureKind::floats) {
      std::vector<float> values(packed.size() / sizeof(float));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = load_float(packed.data() + i * sizeof(float));
      }
      example.set_floats(leaf.key, values);
    } else {
      std::vector<int64_t> values;
      for (WireReader reader(packed); !reader.done();) {
        values.push_back(static_cast<int64_t>(reader.read_varint()));
      }
      example.set_int64s(leaf.key, values);
    }
  }

  // The step of an offset; nothing before the first and after the last one.
  static std::optional<uint64_t> existing(const Row& row, int64_t offset) {
    const int64_t step = static_cast<int64_t>(row.place.step) + offset;
    if (step < 0 || step >= static_cast<int64_t>(row.place.steps)) return std::nullopt;
    return static_cast<uint64_t>(step);
  }
};

StepReader::StepReader(const tfds::Feature& features, const std::vector<EpisodeSlice>& slices,
                       const StepsOptions& options, const StepIndexOptions& index,
                       FileSystem& file_system) {
  auto state = std::make_unique<State>();
  state->resolved = resolve_columns(features, options);
  state->files = EpisodeFiles::open(slices, state->resolved.leaves, index, file_system);
  state->pad = options.pad;
  state_ = std::move(state);
}

StepReader::StepReader(std::unique_ptr<const State> state) : state_(std::move(state)) {}
StepReader::~StepReader() = default;

std::shared_ptr<const StepReader> StepReader::chosen(std::span<const uint64_t> episodes) const {
  auto state = std::make_unique<State>(*state_);
  state->files = state_->files->chosen(episodes);
  return std::shared_ptr<const StepReader>(new StepReader(std::move(state)));
}

std::string StepReader::episode(uint64_t number) const {
  const StepPlace place = files().episode(number);
  const Row row{place, files().record(place)};
  ExampleBuilder example;
  example.set_int64(state_->resolved.steps, static_cast<int64_t>(place.steps));
  for (size_t i = 0; i < state_->resolved.leaves.size(); ++i) {
    const StepLeaf& leaf = state_->resolved.leaves[i];
    if (!leaf.is_of_episode || leaf.is_ragged) continue;
    try {
      state_->set_leaf(row, i, example);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
    }
  }
  return example.serialize();
}

const EpisodeFiles& StepReader::files() const { return *state_->files; }
std::span<const StepColumn> StepReader::columns() const { return state_->resolved.columns; }
std::span<const StepMask> StepReader::masks() const { return state_->resolved.masks; }
bool StepReader::fits(const StepReader& other) const {
  return state_->resolved.format == other.state_->resolved.format &&
         state_->pad == other.state_->pad;
}
Pad StepReader::pad() const { return state_->pad; }
bool StepReader::is_padded(size_t column) const {
  return state_->resolved.sources[column].is_padded;
}

bool StepReader::is_of_episode(size_t column) const {
  return state_->resolved.sources[column].is_of_episode;
}

std::vector<Parameter> StepReader::parameters() const {
  return {{"steps", files().steps()},
          {"columns", state_->resolved.text},
          {"pad", std::string_view(state_->pad == Pad::edge ? "edge" : "zero")},
          {"files", std::string_view(hexadecimal(files().fingerprint()))}};
}

StepReader::Row StepReader::row(uint64_t step) const {
  const StepPlace place = files().step(step);
  return {place, files().record(place)};
}

std::optional<uint64_t> StepReader::step_of(const Row& row, size_t column, size_t at) const {
  const ColumnSource& source = state_->resolved.sources[column];
  if (source.is_of_episode) return 0;
  const int64_t offset = source.offsets[at];
  const auto step = State::existing(row, offset);
  if (step || state_->pad == Pad::zero) return step;
  return offset < 0 ? 0 : row.place.steps - 1;
}

void StepReader::write(const Row& row, size_t column, std::byte* out) const {
  const ColumnSource& source = state_->resolved.sources[column];
  const size_t size = source.count * size_of(source.stored.type);
  std::vector<std::byte> scratch;
  for (size_t at = 0; at < source.offsets.size(); ++at, out += size) {
    if (const auto step = step_of(row, column, at)) {
      decode_unit(state_->unit(row, source.leaf, *step, scratch), source.stored, source.count, out);
    } else {
      std::memset(out, 0, size);
    }
  }
}

std::span<const std::byte> StepReader::bytes(const Row& row, size_t column, uint64_t step,
                                             size_t number, std::vector<std::byte>& scratch) const {
  const ColumnSource& source = state_->resolved.sources[column];
  return state_->unit(row, source.leaf, step * source.count + number, scratch);
}

DictValue StepReader::value(const Row& row, size_t column) const {
  const ColumnSource& source = state_->resolved.sources[column];
  RaggedColumn::Row values(*source.ragged);
  std::deque<std::vector<std::byte>> scratch;  // units are valid until the value is made
  for (size_t number = 0; number < source.ragged_leaves.size(); ++number) {
    const size_t leaf = source.ragged_leaves[number];
    for (size_t at = 0; at < source.offsets.size(); ++at) {
      if (const auto step = step_of(row, column, at)) {
        values.add(number, state_->unit(row, leaf, *step, scratch.emplace_back()),
                   state_->resolved.leaves[leaf]);
      } else {
        values.add_empty(number, state_->resolved.leaves[leaf]);
      }
    }
  }
  return values.value(row.record);
}

void StepReader::write_mask(const Row& row, size_t mask, std::byte* out) const {
  for (const int64_t offset : state_->resolved.mask_offsets[mask]) {
    *out++ = State::existing(row, offset) ? std::byte{1} : std::byte{0};
  }
}

void StepReader::prefetch(uint64_t step) const {
  const StepPlace place = files().step(step);
  const Row row{place, {}};
  for (size_t column = 0; column < columns().size(); ++column) {
    const ColumnSource& source = state_->resolved.sources[column];
    if (columns()[column].type || columns()[column].is_ragged) continue;
    for (size_t at = 0; at < source.offsets.size(); ++at) {
      const auto found = step_of(row, column, at);
      for (size_t i = 0; found && i < source.count; ++i) {
        files().prefetch(place, source.leaf, *found * source.count + i);
      }
    }
  }
}

namespace {

// The steps of a reader by number.
struct NumberedSteps {
  std::shared_ptr<const StepReader> reader;

  uint64_t size() const { return reader->files().steps(); }
  Step operator[](uint64_t number) const { return {reader, number}; }
};

}  // namespace

Dataset<Step> steps(std::shared_ptr<const StepReader> reader) {
  std::vector<Parameter> parameters = reader->parameters();
  using Values = internal::Indexed<Step, NumberedSteps>;
  return internal::DatasetNode::source<Step>(
      internal::indexed("steps", std::move(parameters),
                        std::make_shared<const Values>(NumberedSteps{std::move(reader)}),
                        internal::element_ops<Step>()));
}

}  // namespace recordpipe::rlds
