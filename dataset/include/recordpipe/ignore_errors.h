// What Dataset::ignore_errors allows, and what an iterator reports of what it has left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recordpipe {

// How much may be skipped in one pass over the input before that is an error itself.
struct IgnoreErrorsOptions {
  // Elements.
  uint64_t max_count = UINT64_MAX;
  // Elements skipped by elements seen, 0 to 1.
  double max_rate = 1;
  // A rate counts when so many elements have been seen.
  uint64_t rate_after = 100;
};

// Where an element that was skipped came from, as far as its error says.
struct SkippedElement {
  std::string path;                // empty where the error names none
  std::optional<uint64_t> offset;  // in bytes
  std::string reason;
  bool operator==(const SkippedElement&) const = default;
};

struct SkippedReport {
  // By all ignore_errors of the iterator, since it was made, in all epochs. After a restore also
  // what was skipped on the way to the restored place, from the last place kept before it.
  uint64_t count = 0;
  // The first of them, at most kMaxFirst.
  std::vector<SkippedElement> first;
  static constexpr size_t kMaxFirst = 100;
};

}  // namespace recordpipe
