// Stores the values of a column: a buffer of one kind, reused from batch to batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/example/columns.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {

class ValuesBuffer {
 public:
  // The position of the next value.
  struct Place {
    size_t value = 0;
    size_t byte = 0;
  };

  // Resizes the buffer to `values` values (for kind bytes: `bytes` bytes in total). The values are
  // unspecified until they are written.
  void resize(FeatureKind kind, size_t values, size_t bytes) {
    if (kind == FeatureKind::bytes) {
      splits_.resize(values + 1);
      splits_[0] = 0;
      bytes_.resize(bytes);
    } else if (kind == FeatureKind::floats) {
      floats_.resize(values);
    } else {
      int64s_.resize(values);
    }
  }

  // Resizes the buffer of kind bytes to one block of bytes, without values.
  void resize_block(size_t bytes) { bytes_.resize(bytes); }
  std::span<std::byte> block() { return bytes_; }
  std::span<const std::byte> block() const { return bytes_; }

  // Writes the values of a validated Feature of `kind` from position `from` on, and returns the
  // position after them. read_pieces(on_piece) calls on_piece(WireReader) for each piece. A list
  // that is replaced by a later list of another kind was not measured and may exceed the buffer, so
  // nothing is written at `end` or later. Bytes values must be written in the order of their
  // positions.
  template <typename ReadPieces>
  Place write(FeatureKind kind, Place from, size_t end, ReadPieces read_pieces) {
    Place at = from;
    const auto restart = [&] { at = from; };
    if (kind == FeatureKind::bytes) {
      read_pieces([&](WireReader piece) {
        read_values<FeatureKind::bytes>(piece, restart, [&](std::span<const std::byte> value) {
          if (at.value < end && value.size() <= bytes_.size() - at.byte) at = append(at, value);
        });
      });
    } else if (kind == FeatureKind::floats) {
      read_pieces([&](WireReader piece) {
        read_values<FeatureKind::floats>(piece, restart, [&](std::span<const std::byte> packed) {
          const size_t count = std::min(packed.size() / sizeof(float), end - at.value);
          copy_floats(packed.first(count * sizeof(float)), floats_.data() + at.value);
          at.value += count;
        });
      });
    } else {
      read_pieces([&](WireReader piece) {
        read_values<FeatureKind::int64s>(piece, restart, [&](int64_t value) {
          if (at.value < end) int64s_[at.value++] = value;
        });
      });
    }
    return at;
  }

  // Writes the values of a validated feature in the usual encoding.
  Place write(Place from, const PlainFeature& plain) {
    if (plain.kind == FeatureKind::bytes)
      return write_plain<FeatureKind::bytes>(from, plain.values);
    if (plain.kind == FeatureKind::floats) {
      return write_plain<FeatureKind::floats>(from, plain.values);
    }
    return write_plain<FeatureKind::int64s>(from, plain.values);
  }
  // The same for PlainFeature{kind, values}.
  template <FeatureKind kind>
  Place write_plain(Place from, std::span<const std::byte> values) {
    if constexpr (kind == FeatureKind::bytes) {
      return append(from, values);
    } else if constexpr (kind == FeatureKind::floats) {
      copy_floats(values, floats_.data() + from.value);
      from.value += values.size() / sizeof(float);
    } else if (!values.empty()) {
      int64_t* const to = int64s_.data() + from.value;
      const bool is_single = decode_single_varint(values, *to);
      from.value += is_single ? 1 : static_cast<size_t>(decode_varints(values, to) - to);
    }
    return from;
  }
  // Writes the numbers of `plain` to position `from`, if they are `count` valid numbers. Otherwise
  // returns false; then the values are unspecified.
  bool write_numbers(size_t from, const PlainFeature& plain, size_t count) {
    if (plain.kind == FeatureKind::floats) {
      if (plain.values.size() != count * sizeof(float)) return false;
      copy_floats(plain.values, floats_.data() + from);
      return true;
    }
    if (count == 1 && !plain.values.empty() && decode_single_varint(plain.values, int64s_[from])) {
      return true;
    }
    if (count_varints(plain.values) != count) return false;
    decode_varints(plain.values, int64s_.data() + from);
    return true;
  }

  // Writes the default values of a schema.
  Place write(Place from, const DefaultValues& values) {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
      for (const std::string& text : *texts) from = append(from, std::as_bytes(std::span(text)));
      return from;
    }
    if (const auto* floats = std::get_if<std::vector<float>>(&values)) {
      return copy(*floats, from, floats_);
    }
    if (const auto* int64s = std::get_if<std::vector<int64_t>>(&values)) {
      return copy(*int64s, from, int64s_);
    }
    return from;
  }

  uint64_t heap_bytes() const {
    return floats_.capacity() * sizeof(float) + int64s_.capacity() * sizeof(int64_t) +
           bytes_.capacity() + splits_.capacity() * sizeof(int64_t);
  }

  // Returns the first `count` values.
  template <FeatureKind kind>
  Values<kind> values(size_t count) const {
    if constexpr (kind == FeatureKind::bytes) {
      return {bytes_.data(), std::span(splits_).first(count + 1)};
    } else if constexpr (kind == FeatureKind::floats) {
      return std::span(floats_).first(count);
    } else {
      return std::span(int64s_).first(count);
    }
  }

 private:
  static void copy_floats(std::span<const std::byte> packed, float* to) {
    for (; !packed.empty(); packed = packed.subspan(sizeof(float))) {
      *to++ = load_float(packed.data());
    }
  }

  Place append(Place at, std::span<const std::byte> value) {
    // memcpy with a null pointer is undefined, also for 0 bytes.
    if (!value.empty()) std::memcpy(bytes_.data() + at.byte, value.data(), value.size());
    at.byte += value.size();
    splits_[++at.value] = static_cast<int64_t>(at.byte);
    return at;
  }

  template <typename T>
  static Place copy(const std::vector<T>& values, Place from, internal::AlignedVector<T>& out) {
    std::ranges::copy(values, out.begin() + static_cast<std::ptrdiff_t>(from.value));
    from.value += values.size();
    return from;
  }

  // Only the buffers of the column's kind are used.
  internal::AlignedVector<float> floats_;
  internal::AlignedVector<int64_t> int64s_;
  internal::AlignedVector<std::byte> bytes_;
  internal::AlignedVector<int64_t> splits_;  // value i is bytes_[splits_[i], splits_[i + 1])
};

// Returns the total size of the bytes values in `values`.
inline size_t bytes_of(const DefaultValues& values) {
  size_t bytes = 0;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
    for (const std::string& text : *texts) bytes += text.size();
  }
  return bytes;
}

}  // namespace recordpipe
