// Dict: an element with named values, like the dict of a pipeline in Python or of tf.data.
//
//     Dict step;
//     step.set("action", make_array<float>({7}, actions));
//     step.set("observation", Dict()).dict().set("image", std::move(pixels));
//     const DictValue& image = step.at("observation/image");
//
// A value is an array of numbers (Array), an array of byte strings (BytesArray), an array with
// ragged dimensions (RaggedArray), a list of values (images of different sizes), or a Dict.
// DictCollator (dict_batch.h) stacks the values of Dicts to batches. In Python, a Dict is a dict.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe {

// Numbers: row-major, little-endian, without padding, from an address that is a multiple of 64. A
// bool is a byte of value 0 or 1.
struct Array {
  bool operator==(const Array&) const = default;

  TensorType type = TensorType::float32;
  std::vector<size_t> shape;  // {} for a single number
  internal::AlignedVector<std::byte> bytes = {};

  // The number of elements, the product of the shape.
  size_t size() const { return bytes.size() / size_of(type); }
  // The elements. T must have the size of an element.
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> values() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Byte strings: element i is the range [splits[i], splits[i + 1]) of bytes.
struct BytesArray {
  bool operator==(const BytesArray&) const = default;

  std::vector<size_t> shape;  // {} for a single string
  internal::AlignedVector<std::byte> bytes = {};
  internal::AlignedVector<int64_t> splits = {0};

  size_t size() const { return splits.size() - 1; }
  std::span<const std::byte> operator[](size_t i) const {
    return {bytes.data() + splits[i], static_cast<size_t>(splits[i + 1] - splits[i])};
  }
  std::string_view text(size_t i = 0) const {
    const std::span<const std::byte> value = (*this)[i];
    return {reinterpret_cast<const char*>(value.data()), value.size()};
  }
  // Appends an element. The caller sets the shape.
  void append(std::span<const std::byte> value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    splits.push_back(static_cast<int64_t>(bytes.size()));
  }
};

// An array whose outer dimensions are ragged, as tf.RaggedTensor: `splits` has a vector for each of
// them, the outermost first. Row i of the outermost one consists of the rows [splits[0][i],
// splits[0][i + 1]) of the next one; the rows of the innermost one are ranges of items of `values`,
// whose first dimension counts items.
struct RaggedArray {
  bool operator==(const RaggedArray&) const = default;

  std::variant<Array, BytesArray> values;
  std::vector<internal::AlignedVector<int64_t>> splits;

  // The number of rows of the outermost dimension.
  size_t size() const { return splits.empty() ? 0 : splits.front().size() - 1; }
};

// How a batch holds the values of its rows. A value carries it, so that the form of a batch never
// depends on which rows it happens to have.
enum class Stacking : uint8_t {
  dense,   // all rows have one shape: [rows, shape...]
  ragged,  // rows differ in their first dimension: a RaggedArray. RaggedArrays are always ragged
  list,    // rows have any shape: a list
};

class DictValue;
struct DictEntry;

class Dict {
 public:
  Dict();
  Dict(const Dict&);
  Dict(Dict&&) noexcept;
  Dict& operator=(const Dict&);
  Dict& operator=(Dict&&) noexcept;
  ~Dict();
  bool operator==(const Dict& other) const;

  // In the order in which they were set.
  std::span<const DictEntry> entries() const;
  std::span<DictEntry> entries();
  size_t size() const;
  bool empty() const { return size() == 0; }

  // Sets the value of `name`, and returns it. A new name comes last.
  DictValue& set(std::string name, DictValue value);
  // The same for a name that there is not yet: doesn't look for it.
  DictValue& append(std::string name, DictValue value);
  // The value at `position` <= size(), if it has this name: its memory can be used again.
  // Otherwise removes the values from `position` on, and appends an empty one of this name.
  DictValue& place(size_t position, const std::string& name);
  // Keeps the first `size` values only.
  void truncate(size_t size);

  // The value at a path: names joined with "/". A name may contain "/" itself: the first value that
  // fits is returned. find() returns null if there is none; at() throws Error{not_found}, which
  // lists the names that there are.
  const DictValue* find(std::string_view path) const;
  DictValue* find(std::string_view path);
  const DictValue& at(std::string_view path) const;
  DictValue& at(std::string_view path);

 private:
  friend uint64_t heap_bytes(const Dict& dict);
  std::vector<DictEntry> entries_;
};

class DictValue {
 public:
  using List = std::vector<DictValue>;

  DictValue() = default;
  DictValue(Array array, Stacking stacked = Stacking::dense)
      : stacking(stacked), value_(std::move(array)) {}
  DictValue(BytesArray bytes, Stacking stacked = Stacking::dense)
      : stacking(stacked), value_(std::move(bytes)) {}
  DictValue(RaggedArray ragged) : stacking(Stacking::ragged), value_(std::move(ragged)) {}
  DictValue(Dict dict) : value_(std::move(dict)) {}
  DictValue(List list) : stacking(Stacking::list), value_(std::move(list)) {}
  bool operator==(const DictValue&) const = default;

  Stacking stacking = Stacking::dense;
  // Whether a value may be missing. A batch then has "<name>_mask" beside the value: bools, true
  // where the value is present.
  bool is_optional = false;
  // The value is missing: what there is in its place fills the row of a batch. In Python, the value
  // of a single element is None.
  bool is_missing = false;

  // Throw Error{invalid_argument} if the value is of another kind.
  const Array& array() const { return get<Array>(); }
  Array& array() { return get<Array>(); }
  const BytesArray& bytes() const { return get<BytesArray>(); }
  BytesArray& bytes() { return get<BytesArray>(); }
  const RaggedArray& ragged() const { return get<RaggedArray>(); }
  RaggedArray& ragged() { return get<RaggedArray>(); }
  const Dict& dict() const { return get<Dict>(); }
  Dict& dict() { return get<Dict>(); }
  const List& list() const { return get<List>(); }
  List& list() { return get<List>(); }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&value_);
  }
  // Nothing was assigned.
  bool empty() const { return value_.index() == 0; }
  template <class Visit>
  auto visit(const Visit& visit) const {
    return std::visit(visit, value_);
  }
  // The value, as a T: its memory is used again if it is one already.
  template <class T>
  T& become() {
    if (T* value = std::get_if<T>(&value_)) return *value;
    return value_.emplace<T>();
  }

 private:
  template <class T>
  const T& get() const {
    if (const T* value = std::get_if<T>(&value_)) return *value;
    throw_other_kind();
  }
  template <class T>
  T& get() {
    return const_cast<T&>(std::as_const(*this).get<T>());
  }
  [[noreturn]] void throw_other_kind() const;
  friend uint64_t heap_bytes(const DictValue& value);

  std::variant<std::monostate, Array, BytesArray, RaggedArray, Dict, List> value_;
};

struct DictEntry {
  bool operator==(const DictEntry&) const = default;

  std::string name;
  DictValue value;
};

// The heap memory of a value, in bytes.
uint64_t heap_bytes(const Dict& dict);
uint64_t heap_bytes(const DictValue& value);

// An array of `values`, whose number must be the product of the shape. T: float, double, bool and
// the integers.
template <class T>
constexpr TensorType tensor_type_of();
template <class T>
Array make_array(std::vector<size_t> shape, std::span<const T> values) {
  Array array{tensor_type_of<T>(), std::move(shape)};
  const std::span<const std::byte> bytes = std::as_bytes(values);
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}
template <class T>
Array make_scalar(T value) {
  return make_array<T>({}, std::span(&value, 1));
}
BytesArray make_bytes(std::string_view value);

template <class T>
constexpr TensorType tensor_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return TensorType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return TensorType::float64;
  else if constexpr (std::is_same_v<T, bool>)
    return TensorType::boolean;
  else if constexpr (std::is_same_v<T, int8_t>)
    return TensorType::int8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return TensorType::int16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return TensorType::int32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return TensorType::int64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return TensorType::uint8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return TensorType::uint16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return TensorType::uint32;
  else
    return TensorType::uint64;
}

}  // namespace recordpipe
