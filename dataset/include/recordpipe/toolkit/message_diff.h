// Where two records differ, feature by feature: the order of names, and whether lists are packed,
// don't count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/message_view.h"

namespace recordpipe {

struct FeatureDifference {
  std::string feature = {};  // empty: the records as a whole
  std::string what = {};     // "only in A", "only in B", "kind", "count", "values" or "bytes"
  std::string a = {};        // what A has, shortened; empty where there is none
  std::string b = {};
  // Of bytes that are no short text, of which a and b only say how many they are: from which one on
  // they differ.
  std::optional<uint64_t> first_byte = {};
};

// A record whose bytes aren't those of the other.
struct ComparedRecord {
  std::span<const std::byte> data;
  const MessageView& message;
};

// `tolerance`: numbers that are no further apart are the same. NaN is the same as NaN.
std::vector<FeatureDifference> compare_records(const ComparedRecord& a, const ComparedRecord& b,
                                               double tolerance);

}  // namespace recordpipe
