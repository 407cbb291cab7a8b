// Reads the bytes of tf.io.serialize_tensor, a serialised TensorProto, without a copy of its values
// and without protobuf.
//
//     const TensorView tensor = parse_tensor(value);
//     if (tensor.type() == TensorType::float32) {
//       std::vector<float> values(tensor.size());
//       tensor.copy_to(std::as_writable_bytes(std::span(values)));
//     }
//
// A TensorProto holds its values either as one block of bytes (tensor_content, which
// tf.io.serialize_tensor writes), or as a list of numbers (float_val, int_val, ...), which may be
// shorter than the tensor: the last number is then repeated, and an empty list is a tensor of
// zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace recordpipe {

// The values are those of TensorFlow's DataType.
enum class TensorType : uint8_t {
  float32 = 1,
  float64 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 5,
  int8 = 6,
  complex64 = 8,
  int64 = 9,
  boolean = 10,
  bfloat16 = 14,
  uint16 = 17,
  complex128 = 18,
  float16 = 19,
  uint32 = 22,
  uint64 = 23,
};

// "float32", "bool", ...
std::string_view to_string(TensorType type);
// The size of one element, in bytes.
size_t size_of(TensorType type);

// "[2, 3]"; with `any_first`, "[?, 2, 3]".
std::string shape_text(std::span<const size_t> shape, bool any_first = false);

// Valid as long as the bytes of the TensorProto.
class TensorView {
 public:
  static constexpr size_t kMaxRank = 32;

  TensorType type() const { return type_; }
  std::span<const size_t> shape() const { return std::span(shape_).first(rank_); }
  // The number of elements, the product of the shape.
  size_t size() const { return size_; }
  // The number of stored elements; if it is less than size(), the last one is repeated.
  size_t stored() const { return stored_; }

  // Writes all elements, row-major and little-endian, without padding. A bool is 0 or 1. `out` must
  // have size() * size_of(type()) bytes.
  void copy_to(std::span<std::byte> out) const;

 private:
  friend TensorView parse_tensor(std::span<const std::byte> tensor);
  TensorView() = default;

  TensorType type_ = TensorType::float32;
  size_t rank_ = 0;
  std::array<size_t, kMaxRank> shape_ = {};
  size_t size_ = 1;
  size_t stored_ = 0;
  std::span<const std::byte> content_;  // empty if the elements are in a list
  std::span<const std::byte> message_;  // validated
};

// Parses a serialised TensorProto. Allocates no memory, and validates all of it: copy_to() always
// succeeds. Throws Error, with the offset in `tensor` if there is one:
//   corrupted       not a TensorProto; no or an invalid shape; more values than the shape has, or
//                   content of another size
//   unsupported     the type is none of TensorType: strings, quantised and 8-bit floats, variants
//   limit_exceeded  2 GiB or more, or more than kMaxRank dimensions
//
// A few bytes may describe a tensor of any size, by repetition. Check size(), and stored(), before
// you allocate memory.
TensorView parse_tensor(std::span<const std::byte> tensor);

}  // namespace recordpipe
