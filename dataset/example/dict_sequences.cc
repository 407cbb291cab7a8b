#include "recordpipe/example/dict_sequences.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse_sequence(const std::string& path, const std::string& reason) {
  throw Error(
      {.kind = ErrorKind::invalid_argument, .reason = "\"" + printable(path) + "\" " + reason});
}

size_t length_of(const DictValue& value, const std::string& path) {
  if (const auto* array = value.get_if<Array>()) {
    if (!array->shape.empty()) return array->shape.front();
  } else if (const auto* bytes = value.get_if<BytesArray>()) {
    if (!bytes->shape.empty()) return bytes->shape.front();
  } else if (const auto* ragged = value.get_if<RaggedArray>()) {
    return ragged->size();
  } else if (const auto* list = value.get_if<DictValue::List>()) {
    return list->size();
  }
  refuse_sequence(path, "is no sequence");
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// The bytes of one item of a sequence.
size_t item_bytes(const Array& array) {
  size_t size = size_of(array.type);
  for (const size_t dimension : std::span(array.shape).subspan(1)) size *= dimension;
  return size;
}

// The sequences between reset() and finish() are the values of a list with this name.
constexpr const char* kSequences = "sequences";

// Makes `values`, `segment_ids` and `positions`: rows of `length` items.
void pack(const std::string& name, std::span<DictValue> dicts, size_t length, Dict& row) {
  const Array& first = dicts.front().dict().at(name).array();
  Array values{first.type, first.shape};
  values.shape.front() = length;
  const size_t item = item_bytes(first);
  values.bytes.assign(length * item, std::byte{});
  std::vector<int32_t> segment_ids(length), positions(length);
  size_t at = 0;
  for (size_t segment = 0; segment < dicts.size(); ++segment) {
    const Array& sequence = dicts[segment].dict().at(name).array();
    if (sequence.type != first.type || item_bytes(sequence) != item ||
        !std::ranges::equal(std::span(sequence.shape).subspan(1),
                            std::span(first.shape).subspan(1))) {
      refuse_sequence(name, "has sequences of different types or shapes");
    }
    const size_t count = std::min(sequence.shape.front(), length - at);
    if (count * item > 0) {
      std::memcpy(values.bytes.data() + at * item, sequence.bytes.data(), count * item);
    }
    for (size_t i = 0; i < count; ++i, ++at) {
      segment_ids[at] = static_cast<int32_t>(segment + 1);
      positions[at] = static_cast<int32_t>(i);
    }
  }
  row.set(name, std::move(values));
  row.set(name + "_segment_ids", make_array<int32_t>({length}, segment_ids));
  row.set(name + "_positions", make_array<int32_t>({length}, positions));
}

}  // namespace

size_t DictLength::operator()(const Dict& dict) const { return length_of(dict.at(path), path); }

std::vector<size_t> DictSizes::operator()(const Dict& dict) const {
  std::vector<size_t> sizes;
  for (const std::string& path : paths) sizes.push_back(length_of(dict.at(path), path));
  return sizes;
}

std::vector<Parameter> DictSizes::parameters() const { return {{"length_of", joined(paths)}}; }

std::vector<Parameter> PaddedDictCollator::parameters() const {
  return {{"padded", joined(paths)}, {"length", boundaries.empty() ? "longest" : "boundary"}};
}

void PaddedDictCollator::set(DictBatch& batch, size_t row, Dict&& dict) const {
  for (const std::string& path : paths) {
    if (dict.at(path).array().shape.empty()) refuse_sequence(path, "is no sequence");
  }
  DictCollator().set(batch, row, std::move(dict));
}

void PaddedDictCollator::finish(DictBatch& batch) const {
  for (const std::string& path : paths) {
    size_t length = 0;
    for (const Dict& row : batch.parts) {
      length = std::max(length, row.at(path).array().shape.front());
    }
    if (!boundaries.empty()) {
      const auto above = std::ranges::upper_bound(boundaries, length);
      if (above != boundaries.end()) length = *above - 1;
    }
    for (Dict& row : batch.parts) {
      DictValue& value = row.at(path);
      value.stacking = Stacking::dense;
      Array& array = value.array();
      array.bytes.resize(length * item_bytes(array));
      array.shape.front() = length;
    }
  }
  DictCollator().finish(batch);
}

std::vector<Parameter> PackedDictCollator::parameters() const { return {{"names", joined(names)}}; }

void PackedDictCollator::reset(Dict& row, size_t sequences) const {
  row.truncate(0);
  row.set(kSequences, DictValue::List(sequences));
}

void PackedDictCollator::set(Dict& row, size_t sequence, Dict&& dict) const {
  for (const std::string& name : names) {
    if (dict.at(name).array().shape.empty()) refuse_sequence(name, "is no sequence");
  }
  row.entries().front().value.list()[sequence] = std::move(dict);
}

void PackedDictCollator::finish(Dict& row) const {
  DictValue::List sequences = std::move(row.entries().front().value.list());
  row.truncate(0);
  for (size_t k = 0; k < names.size(); ++k) pack(names[k], sequences, lengths[k], row);
}

}  // namespace recordpipe
