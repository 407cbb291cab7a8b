#include "recordpipe/example/dict.h"

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

template <class T>
uint64_t heap_bytes_of(const std::vector<T, internal::AlignedAllocator<T>>& values) {
  return values.capacity() * sizeof(T);
}
uint64_t heap_bytes_of(const std::vector<size_t>& shape) {
  return shape.capacity() * sizeof(size_t);
}
uint64_t heap_bytes_of(const Array& array) {
  return heap_bytes_of(array.shape) + heap_bytes_of(array.bytes);
}
uint64_t heap_bytes_of(const BytesArray& array) {
  return heap_bytes_of(array.shape) + heap_bytes_of(array.bytes) + heap_bytes_of(array.splits);
}
uint64_t heap_bytes_of(const RaggedArray& array) {
  uint64_t bytes =
      std::visit([](const auto& values) { return heap_bytes_of(values); }, array.values);
  bytes += array.splits.capacity() * sizeof(array.splits[0]);
  for (const auto& splits : array.splits) bytes += heap_bytes_of(splits);
  return bytes;
}
uint64_t heap_bytes_of(const Dict& dict) { return heap_bytes(dict); }
uint64_t heap_bytes_of(const DictValue::List& list) {
  uint64_t bytes = list.capacity() * sizeof(DictValue);
  for (const DictValue& value : list) bytes += heap_bytes(value);
  return bytes;
}
uint64_t heap_bytes_of(std::monostate) { return 0; }

std::string names_of(const Dict& dict) {
  constexpr size_t kMax = 20;
  std::string names;
  for (const DictEntry& entry : dict.entries().first(std::min(dict.size(), kMax))) {
    names += (names.empty() ? "" : ", ") + printable(entry.name);
  }
  return dict.size() > kMax ? names + ", ..." : names;
}

}  // namespace

Dict::Dict() = default;
Dict::Dict(const Dict&) = default;
Dict::Dict(Dict&&) noexcept = default;
Dict& Dict::operator=(const Dict&) = default;
Dict& Dict::operator=(Dict&&) noexcept = default;
Dict::~Dict() = default;
bool Dict::operator==(const Dict& other) const { return entries_ == other.entries_; }

size_t Dict::size() const { return entries_.size(); }
std::span<const DictEntry> Dict::entries() const { return entries_; }
std::span<DictEntry> Dict::entries() { return entries_; }

DictValue& Dict::set(std::string name, DictValue value) {
  for (DictEntry& entry : entries_) {
    if (entry.name == name) return entry.value = std::move(value);
  }
  return entries_.emplace_back(DictEntry{std::move(name), std::move(value)}).value;
}

DictValue& Dict::append(std::string name, DictValue value) {
  return entries_.emplace_back(DictEntry{std::move(name), std::move(value)}).value;
}

DictValue& Dict::place(size_t position, const std::string& name) {
  if (position < entries_.size()) {
    if (entries_[position].name == name) return entries_[position].value;
    truncate(position);
  }
  return append(name, {});
}

void Dict::truncate(size_t size) {
  if (size < entries_.size()) entries_.resize(size);
}

const DictValue* Dict::find(std::string_view path) const {
  for (const DictEntry& entry : entries_) {
    if (entry.name == path) return &entry.value;
  }
  for (const DictEntry& entry : entries_) {
    if (path.size() <= entry.name.size() || !path.starts_with(entry.name)) continue;
    if (path[entry.name.size()] != '/') continue;
    const Dict* nested = entry.value.get_if<Dict>();
    if (!nested) continue;
    if (const DictValue* value = nested->find(path.substr(entry.name.size() + 1))) return value;
  }
  return nullptr;
}

DictValue* Dict::find(std::string_view path) {
  return const_cast<DictValue*>(std::as_const(*this).find(path));
}

const DictValue& Dict::at(std::string_view path) const {
  if (const DictValue* value = find(path)) return *value;
  throw Error({.kind = ErrorKind::not_found,
               .reason = "there is no value \"" + printable(path) + "\"",
               .hint = "the names are " + names_of(*this)});
}

DictValue& Dict::at(std::string_view path) {
  return const_cast<DictValue&>(std::as_const(*this).at(path));
}

void DictValue::throw_other_kind() const {
  static constexpr const char* kKinds[] = {"empty",  "an array",      "an array of byte strings",
                                           "ragged", "a nested dict", "a list"};
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = std::string("the value is ") + kKinds[value_.index()]});
}

uint64_t heap_bytes(const Dict& dict) {
  uint64_t bytes = dict.entries_.capacity() * sizeof(DictEntry);
  for (const DictEntry& entry : dict.entries_) {
    bytes += entry.name.capacity() + heap_bytes(entry.value);
  }
  return bytes;
}

uint64_t heap_bytes(const DictValue& value) {
  return value.visit([](const auto& held) { return heap_bytes_of(held); });
}

BytesArray make_bytes(std::string_view value) {
  BytesArray array;
  array.append(std::as_bytes(std::span(value)));
  return array;
}

}  // namespace recordpipe
