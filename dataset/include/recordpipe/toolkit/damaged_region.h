// What is wrong with a part of a TFRecord file, as a value: for those who go on behind it.
#pragma once

#include <cstdint>
#include <string>

#include "recordpipe/error.h"

namespace recordpipe {

// Bytes [begin, end) of a file's content (inflated, where it is compressed) in which no intact
// record starts. They are what lies between two intact records, or before the first, or behind the
// last, however many records they once were; the reason is what is wrong at `begin`. There may be
// no bytes: where compression is damaged, and what is left of the content shows nothing of it.
struct DamagedRegion {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string reason = {};       // a lower-case phrase, in the words of a reader's error
  std::string hint = {};         // what to do, a sentence; may be empty
  Remedy remedy = Remedy::none;  // what of the hint is a setting

  uint64_t size() const { return end - begin; }
  bool operator==(const DamagedRegion&) const = default;
};

}  // namespace recordpipe
