// Reads the steps of a FeatureList in the encoding that nearly all writers use, fast: each step is
// one Feature with one list, as plain_entry.h describes it, and all are of the same kind. An empty
// list of numbers, without the field of its values, is part of that encoding too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/internal/packed_varints.h"
#include "recordpipe/example/internal/plain_entry.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

// The tag and size of a Feature, of its list and of the list's values, for less than 128 bytes.
inline constexpr size_t kStepHeaders = 6;

// Returns these headers as a number, for a Feature of `size` bytes (4 to 127).
constexpr uint64_t step_headers(FeatureKind kind, uint64_t size) {
  constexpr uint64_t kFeatureTag = length_delimited_tag(kFeatureListFeature);
  constexpr uint64_t kValueTag = length_delimited_tag(kListValue);
  const uint64_t list_tag = length_delimited_tag(static_cast<uint32_t>(kind));
  return kFeatureTag | size << 8 | list_tag << 16 | (size - 2) << 24 | kValueTag << 32 |
         (size - 4) << 40;
}

// Reads a step that is an empty list of numbers, or of 128 bytes or more. Otherwise returns nullopt
// and `steps` does not advance.
inline std::optional<std::span<const std::byte>> read_rare_step(GlanceReader& steps,
                                                                FeatureKind kind) {
  GlanceReader next = steps;
  const auto step = next.read_bytes(kFeatureListFeature);
  if (!step) return std::nullopt;
  std::span<const std::byte> values;
  if (step->size() == 2) {
    const auto empty = GlanceReader(*step).read_last(static_cast<uint32_t>(kind));
    if (!empty || kind == FeatureKind::bytes) return std::nullopt;
  } else {
    const auto feature = read_plain_feature(*step);
    if (!feature || feature->kind != kind) return std::nullopt;
    values = feature->values;
  }
  steps = next;
  return values;
}

// Calls on_step(values) for each step of a FeatureList, with the packed numbers, which are not
// validated, or the only bytes value. Returns false at a step of another encoding or kind, and if
// on_step() returns false. The list must begin at least 8 bytes after the start of its record.
template <FeatureKind kind, typename OnStep>
bool read_plain_steps(std::span<const std::byte> list, OnStep on_step) {
  constexpr uint64_t kHeaderBits = (uint64_t{1} << 8 * kStepHeaders) - 1;
  const std::byte* next = list.data();
  const std::byte* const end = next + list.size();
  // Steps of floats usually have the same size as the step before. Then the address of the next
  // step doesn't depend on a load. The sizes of varints vary too much for a guess.
  size_t size = 0;
  uint64_t headers_before = ~uint64_t{0};
  while (next != end) {
    const auto left = static_cast<size_t>(end - next);
    const uint64_t word = left >= 8 ? load_little_endian<uint64_t>(next)
                                    : load_little_endian<uint64_t>(end - 8) >> (64 - 8 * left);
    const uint64_t headers = word & kHeaderBits;
    if (kind != FeatureKind::floats || headers != headers_before) {
      size = headers >> 8 & 0xff;
      if (size < 4 || size >= 128 || headers != step_headers(kind, size)) [[unlikely]] {
        GlanceReader rest({next, end});
        const auto values = read_rare_step(rest, kind);
        if (!values || !on_step(*values)) return false;
        next = rest.rest().data();
        continue;
      }
      headers_before = headers;
    }
    if (size > left - 2) return false;
    if (!on_step(std::span(next + kStepHeaders, size - 4))) return false;
    next += 2 + size;
  }
  return true;
}

// A map entry of a FeatureLists message: one key and one FeatureList.
struct PlainList {
  std::string_view key;  // not validated
  std::span<const std::byte> steps;
};

// Reads the next entry; if it has another encoding, `feature_lists` does not advance.
inline bool read_plain_list(GlanceReader& feature_lists, PlainList& out) {
  GlanceReader next = feature_lists;
  const auto entry = next.read_bytes(kFeatureListsEntry);
  if (!entry) return false;
  GlanceReader fields(*entry);
  const auto key = fields.read_bytes(kEntryKey);
  if (!key) return false;
  const auto steps = fields.read_last(kEntryValue);
  if (!steps) return false;
  feature_lists = next;
  out = {{reinterpret_cast<const char*>(key->data()), key->size()}, *steps};
  return true;
}

}  // namespace recordpipe
