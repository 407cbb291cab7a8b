// A row of an array as a Feature.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dataset/example/packed_feature.h"
#include "recordpipe/error.h"
#include "recordpipe/image/half.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/parameter.h"
#include "recordpipe/toolkit/npy_format.h"

namespace recordpipe {
namespace {

uint64_t load_bits(const NpyHeader& header, const std::byte* from) {
  uint64_t bits = 0;
  for (size_t i = 0; i < header.item_size; ++i) {
    const size_t place = header.big_endian ? i : header.item_size - 1 - i;
    bits = bits << 8 | std::to_integer<uint64_t>(from[place]);
  }
  return bits;
}

int64_t load_integer(const NpyHeader& header, const std::byte* from) {
  const uint64_t bits = load_bits(header, from);
  if (header.kind == 'b') return bits != 0;
  const int unused = static_cast<int>(64 - 8 * header.item_size);
  if (header.kind == 'i') return static_cast<int64_t>(bits << unused) >> unused;
  if (bits > static_cast<uint64_t>(INT64_MAX)) {
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = std::to_string(bits) + " is too large for an int64"});
  }
  return static_cast<int64_t>(bits);
}

float load_float_value(const NpyHeader& header, const std::byte* from) {
  const uint64_t bits = load_bits(header, from);
  if (header.item_size == 2) return to_float(Float16{static_cast<uint16_t>(bits)});
  if (header.item_size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const auto wide = std::bit_cast<double>(bits);
  const auto value = static_cast<float>(wide);
  if (std::isinf(value) && !std::isinf(wide)) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = shortest_text(wide) + " is too large for a float",
                 .hint = "scale the array, or clip it (numpy.clip)"});
  }
  return value;
}

void append_utf8(uint64_t code, std::string& out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    throw Error({.kind = ErrorKind::corrupted, .reason = "text that is not valid Unicode"});
  }
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

std::string load_string(const NpyHeader& header, const std::byte* from) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(reinterpret_cast<const char*>(from), header.item_size);
  } else {
    NpyHeader character = header;
    character.item_size = 4;
    for (size_t i = 0; i < header.item_size; i += 4) {
      append_utf8(load_bits(character, from + i), text);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::string strings_feature(const NpyHeader& header, std::span<const std::byte> row) {
  std::vector<std::string> strings;
  for (uint64_t i = 0; i < header.row_values(); ++i) {
    strings.push_back(load_string(header, row.data() + i * header.item_size));
  }
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& string : strings) spans.push_back(std::as_bytes(std::span(string)));
  return bytes_feature(spans);
}

}  // namespace

std::string npy_row_feature(const NpyHeader& header, std::span<const std::byte> row) {
  if (header.kind == 'u' && header.item_size == 1 && header.shape.size() > 2) {
    return bytes_feature(std::span(&row, 1));
  }
  if (header.kind == 'S' || header.kind == 'U') return strings_feature(header, row);
  const auto place = [&](size_t i) { return row.data() + i * header.item_size; };
  if (header.kind == 'f') {
    return floats_feature_of(header.row_values(),
                             [&](size_t i) { return load_float_value(header, place(i)); });
  }
  return int64s_feature_of(header.row_values(),
                           [&](size_t i) { return load_integer(header, place(i)); });
}

}  // namespace recordpipe
