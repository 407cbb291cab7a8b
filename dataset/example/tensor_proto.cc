#include "recordpipe/example/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {
namespace {

// Field numbers of tensor.proto and tensor_shape.proto.
constexpr uint32_t kType = wire_tag(1, WireType::varint);
constexpr uint32_t kShape = length_delimited_tag(2);
constexpr uint32_t kContent = length_delimited_tag(4);
constexpr uint32_t kDimension = length_delimited_tag(2);
constexpr uint32_t kDimensionSize = wire_tag(1, WireType::varint);
constexpr uint32_t kUnknownRank = wire_tag(3, WireType::varint);

struct TypeTraits {
  TensorType type;
  std::string_view name;
  size_t size;
  uint32_t list;       // the field of the list of values
  WireType wire;       // of one number of the list
  size_t numbers = 1;  // per element: a complex value has two
};

constexpr TypeTraits kTypes[] = {
    {TensorType::float32, "float32", 4, 5, WireType::fixed32},
    {TensorType::float64, "float64", 8, 6, WireType::fixed64},
    {TensorType::int32, "int32", 4, 7, WireType::varint},
    {TensorType::uint8, "uint8", 1, 7, WireType::varint},
    {TensorType::int16, "int16", 2, 7, WireType::varint},
    {TensorType::int8, "int8", 1, 7, WireType::varint},
    {TensorType::complex64, "complex64", 8, 9, WireType::fixed32, 2},
    {TensorType::int64, "int64", 8, 10, WireType::varint},
    {TensorType::boolean, "bool", 1, 11, WireType::varint},
    {TensorType::bfloat16, "bfloat16", 2, 13, WireType::varint},
    {TensorType::uint16, "uint16", 2, 7, WireType::varint},
    {TensorType::complex128, "complex128", 16, 12, WireType::fixed64, 2},
    {TensorType::float16, "float16", 2, 13, WireType::varint},
    {TensorType::uint32, "uint32", 4, 16, WireType::varint},
    {TensorType::uint64, "uint64", 8, 17, WireType::varint},
};

const TypeTraits* find_traits(uint64_t type) {
  const auto* found = std::ranges::find(
      kTypes, type, [](const TypeTraits& traits) { return static_cast<uint64_t>(traits.type); });
  return found == std::end(kTypes) ? nullptr : found;
}

const TypeTraits& traits_of(TensorType type) { return *find_traits(static_cast<uint64_t>(type)); }

[[noreturn]] void refuse_tensor(ErrorKind kind, std::string reason, std::string hint = {}) {
  throw Error({.kind = kind, .reason = std::move(reason), .hint = std::move(hint)});
}

// TensorFlow's names of the types that are not supported.
std::string unsupported_type(uint64_t type) {
  if (type == 0) return "a tensor without a type";
  if (type == 7) return "a tensor of strings";
  return "a tensor of TensorFlow's type " + std::to_string(type);
}

uint64_t read_number(WireReader& reader, WireType wire) {
  if (wire == WireType::varint) return reader.read_varint();
  if (wire == WireType::fixed32) return reader.read_fixed32();
  return reader.read_fixed64();
}

// Calls visit(bits) for each number of the list that `traits` names, packed or not.
template <typename Visit>
void read_numbers(WireReader message, const TypeTraits& traits, Visit visit) {
  const uint32_t packed_tag = length_delimited_tag(traits.list);
  const uint32_t single_tag = wire_tag(traits.list, traits.wire);
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    if (tag == packed_tag) {
      WireReader packed = message.read_packed();
      while (!packed.done()) visit(read_number(packed, traits.wire));
    } else if (tag == single_tag) {
      visit(read_number(message, traits.wire));
    } else {
      message.skip(tag);
    }
  }
}

// Reads a TensorShapeProto, which has no dimensions if the tensor is a scalar.
class ShapeReader {
 public:
  explicit ShapeReader(std::span<size_t> shape) : shape_(shape) {}

  void read(WireReader message) {
    while (!message.done()) {
      const uint32_t tag = message.read_tag();
      if (tag == kDimension) {
        read_dimension(message.read_message());
      } else if (tag == kUnknownRank) {
        unknown_rank_ = message.read_varint() != 0;
      } else {
        message.skip(tag);
      }
    }
  }

  // Returns the number of elements.
  size_t finish() const {
    // Far above what memory holds, so that a number of bytes never overflows.
    constexpr size_t kMaxElements = size_t{1} << 56;
    if (unknown_rank_) refuse_tensor(ErrorKind::corrupted, "a tensor of unknown rank");
    size_t elements = 1;
    bool is_empty = false;
    for (const size_t size : shape_.first(rank_)) {
      if (size == 0) {
        is_empty = true;  // but the other dimensions have the limit, as in NumPy
        continue;
      }
      if (elements > kMaxElements / size) {
        refuse_tensor(
            ErrorKind::corrupted,
            "a tensor of the shape " + shape_text(shape_.first(rank_)) + ", which is too large");
      }
      elements *= size;
    }
    return is_empty ? 0 : elements;
  }
  size_t rank() const { return rank_; }

 private:
  void read_dimension(WireReader dimension) {
    int64_t size = 0;
    while (!dimension.done()) {
      const uint32_t tag = dimension.read_tag();
      if (tag == kDimensionSize) {
        size = static_cast<int64_t>(dimension.read_varint());
      } else {
        dimension.skip(tag);
      }
    }
    if (size < 0) {
      refuse_tensor(ErrorKind::corrupted, "a tensor with a dimension of " + std::to_string(size));
    }
    if (rank_ == shape_.size()) {
      refuse_tensor(ErrorKind::limit_exceeded,
                    "a tensor of more than " + std::to_string(shape_.size()) + " dimensions");
    }
    shape_[rank_++] = static_cast<size_t>(size);
  }

  std::span<size_t> shape_;
  size_t rank_ = 0;
  bool unknown_rank_ = false;
};

// Writes the low `size` bytes of numbers.
class NumberWriter {
 public:
  NumberWriter(std::byte* out, size_t size) : out_(out), size_(size) {}

  void write(uint64_t bits) {
    for (size_t i = 0; i < size_; ++i) *out_++ = static_cast<std::byte>(bits >> (8 * i));
  }

 private:
  std::byte* out_;
  size_t size_;
};

// Fills `out` with copies of its first `size` bytes.
void repeat(std::span<std::byte> out, size_t size) {
  while (size < out.size()) {
    const size_t count = std::min(size, out.size() - size);
    std::memcpy(out.data() + size, out.data(), count);
    size += count;
  }
}

// Returns `error` of a WireReader, which expects Examples, as that of a tensor.
Error of_tensor(const Error& error) {
  Error::Parts parts = error.parts();
  if (std::string_view(parts.reason).starts_with(kNotAnExample)) {
    parts.reason.replace(0, kNotAnExample.size(), "not a TensorProto: ");
  }
  return Error(std::move(parts));
}

}  // namespace

std::string_view to_string(TensorType type) { return traits_of(type).name; }

size_t size_of(TensorType type) { return traits_of(type).size; }

std::string shape_text(std::span<const size_t> shape, bool any_first) {
  std::string text = any_first ? "[?" : "[";
  for (const size_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text += ']';
}

TensorView parse_tensor(std::span<const std::byte> tensor) {
  if (tensor.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    refuse_tensor(ErrorKind::limit_exceeded, "a tensor of 2 GiB or more");
  }
  TensorView view;
  view.message_ = tensor;
  try {
    ShapeReader shape(view.shape_);
    uint64_t type = 0;
    bool has_content = false;
    for (WireReader message(tensor); !message.done();) {
      const uint32_t tag = message.read_tag();
      if (tag == kType) {
        type = message.read_varint();
      } else if (tag == kShape) {
        shape.read(message.read_message());
      } else if (tag == kContent) {
        view.content_ = message.read_bytes();
        has_content = !view.content_.empty();
      } else {
        message.skip(tag);
      }
    }
    const TypeTraits* const traits = find_traits(type);
    if (!traits) {
      refuse_tensor(type == 0 ? ErrorKind::corrupted : ErrorKind::unsupported,
                    unsupported_type(type));
    }
    view.type_ = traits->type;
    view.size_ = shape.finish();
    view.rank_ = shape.rank();

    if (has_content) {
      if (view.content_.size() != view.size_ * traits->size) {
        refuse_tensor(ErrorKind::corrupted,
                      "a tensor of " + std::string(traits->name) + shape_text(view.shape()) +
                          " with " + std::to_string(view.content_.size()) + " bytes of content");
      }
      view.stored_ = view.size_;
      return view;
    }
    size_t numbers = 0;
    read_numbers(WireReader(tensor), *traits, [&](uint64_t) { ++numbers; });
    view.stored_ = numbers / traits->numbers;
    if (numbers % traits->numbers != 0 || view.stored_ > view.size_) {
      refuse_tensor(ErrorKind::corrupted, "a tensor of " + std::string(traits->name) +
                                              shape_text(view.shape()) + " with a list of " +
                                              std::to_string(numbers) + " numbers");
    }
    return view;
  } catch (const Error& error) {
    throw of_tensor(error);
  }
}

void TensorView::copy_to(std::span<std::byte> out) const {
  if (out.empty()) return;
  if (!content_.empty()) {
    std::memcpy(out.data(), content_.data(), out.size());
    if (type_ == TensorType::boolean) {
      for (std::byte& value : out) value = value == std::byte{0} ? std::byte{0} : std::byte{1};
    }
    return;
  }
  const TypeTraits& traits = traits_of(type_);
  if (stored_ == 0) {
    std::ranges::fill(out, std::byte{0});
    return;
  }
  NumberWriter writer(out.data(), traits.size / traits.numbers);
  read_numbers(WireReader(message_), traits, [&](uint64_t bits) {
    writer.write(type_ == TensorType::boolean ? bits != 0 : bits);
  });
  const auto rest = out.subspan((stored_ - 1) * traits.size);
  repeat(rest, traits.size);
}

}  // namespace recordpipe
