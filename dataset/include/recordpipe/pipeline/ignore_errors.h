// Defines limits for Dataset::ignore_errors, and an iterator's report of skipped elements and
// damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// Limits on skipped elements in one pass over the input. Beyond a limit, the iteration throws.
struct IgnoreErrorsOptions {
  // Maximum number of skipped elements (default: no limit).
  uint64_t max_count = UINT64_MAX;
  // Maximum ratio of skipped to seen elements, 0 to 1 (default 1: no limit).
  double max_rate = 1;
  // max_rate applies after this number of elements (default 100).
  uint64_t rate_after = 100;
};

// The origin of a skipped element, as far as its error states the origin.
struct SkippedElement {
  std::string path;                // empty if the error has no path
  std::optional<uint64_t> offset;  // in bytes
  std::string reason;
  bool operator==(const SkippedElement&) const = default;
};

struct SkippedReport {
  // Number of elements skipped by all ignore_errors operators of the iterator since its
  // construction, in all epochs. After a restore, it includes elements skipped while replaying from
  // the last saved position to the restored position.
  uint64_t count = 0;
  // The first skipped elements, at most kMaxFirst.
  std::vector<SkippedElement> first;
  static constexpr size_t kMaxFirst = 100;
  // The different files in which sources with OnDamage::skip_file or resync have met damage since
  // the iterator's construction, also ahead of its consumer, and what they left out. Each source
  // counts what it leaves out: damage in a file that is zipped with itself counts twice. A file
  // that a source reads again, in another epoch or after a restore, is not counted again. The
  // datasets that an interleave or a flat_map opens are one source.
  uint64_t damaged_files = 0;
  DamageSkipped damage = {};
};

}  // namespace recordpipe
