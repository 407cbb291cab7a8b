// Compares two records by feature. Ignores the order of names and the packing of lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/example/message_view.h"

namespace recordpipe {

struct FeatureDifference {
  std::string feature = {};  // empty: the records as a whole
  std::string what = {};     // "only in A", "only in B", "kind", "count", "values" or "bytes"
  std::string a = {};        // the value in A, shortened; empty if there is none
  std::string b = {};
  // For binary or long bytes values, for which `a` and `b` contain only the size: the index of the
  // first different byte.
  std::optional<uint64_t> first_byte = {};
};

// One of two records whose bytes differ.
struct ComparedRecord {
  std::span<const std::byte> data;
  const MessageView& message;
};

// `tolerance` is the maximum absolute difference of numbers that count as equal. NaN equals NaN.
std::vector<FeatureDifference> compare_records(const ComparedRecord& a, const ComparedRecord& b,
                                               double tolerance);

}  // namespace recordpipe
