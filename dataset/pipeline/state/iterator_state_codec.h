// Serialises saved iterators: the bytes of a recordpipe.proto.IteratorState
// (proto/iterator_state.proto), without libprotobuf, whose descriptors would clash with those of
// other copies of it in the same process (TensorFlow's, for example).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/pipeline/state/plan_state.h"

namespace recordpipe::internal {

// The fields of the message, except crc32c.
struct IteratorState {
  uint32_t version = 0;
  uint64_t plan_hash = 0;
  std::string plan_text = {};
  std::vector<uint64_t> file_fingerprints = {};
  uint32_t files_per_fingerprint = 0;
  PlanState place = {};
  uint64_t position = 0;
  uint64_t epoch = 0;
  std::vector<uint32_t> opened_files = {};
  std::vector<uint64_t> input_files = {};
  uint64_t operators_hash = 0;
};

// The maximum number of nested operators in a state; protobuf's default is 100.
inline constexpr int kMaxStateDepth = 1000;

// Returns the same bytes as libprotobuf, and crc32c at the end. Throws Error{unsupported} if more
// operators are nested, or for more than 1 GiB.
std::string serialize(const IteratorState& state);

struct ParsedIteratorState {
  IteratorState state = {};
  bool is_intact = false;  // the CRC is correct
};
// Returns nothing if `serialized` is not an IteratorState. Repeated numbers must be packed, as they
// are written.
std::optional<ParsedIteratorState> parse_iterator_state(std::string_view serialized);

}  // namespace recordpipe::internal
