// What to do about damage in TFRecord files; a damaged region as a value, for programs that
// continue after damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/base/error.h"

namespace recordpipe {

// What a reader of files does about damage: a wrong CRC, a truncated file, a damaged compressed
// stream. A file that is missing or can't be read is an error in any case.
enum class OnDamage : uint8_t {
  raise,
  // Leaves out each record whose data CRC is wrong, and after any other damage the rest of the
  // file.
  skip_file,
  // Leaves out damaged regions only, and reads all intact records between them. RecordScanner
  // (record_scanner.h) finds them; after damage in a compressed stream, in the next gzip member or
  // zstd frame.
  resync,
};

// "raise", "skip_file" or "resync".
constexpr std::string_view to_string(OnDamage on_damage) {
  constexpr std::string_view kNames[] = {"raise", "skip_file", "resync"};
  return kNames[static_cast<size_t>(on_damage)];
}

// Bytes [begin, end) of a file's (decompressed) content in which no intact record starts: the bytes
// between two intact records, before the first intact record, or after the last one, regardless of
// how many records they once contained. `reason` describes the defect at `begin`. The region is
// empty if the compressed data is damaged but no damage is visible in the decompressed content.
struct DamagedRegion {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string reason = {};       // a lower-case phrase, as in RecordReader's errors
  std::string hint = {};         // what to do; may be empty
  Remedy remedy = Remedy::none;  // the setting that the hint names, if any
  // Bytes of the compressed file that can't be decompressed. The records in them are lost, too, and
  // in no other count; `reason` names their number.
  uint64_t compressed_lost = 0;

  uint64_t size() const { return end - begin; }
  bool operator==(const DamagedRegion&) const = default;
};

// How much of the files was skipped.
struct DamageSkipped {
  uint64_t regions = 0;
  uint64_t bytes = 0;
  uint64_t compressed_bytes = 0;  // that can't be decompressed

  void add(const DamagedRegion& region) {
    merge({.regions = 1, .bytes = region.size(), .compressed_bytes = region.compressed_lost});
  }
  void merge(const DamageSkipped& other) {
    regions += other.regions;
    bytes += other.bytes;
    compressed_bytes += other.compressed_bytes;
  }
  bool operator==(const DamageSkipped&) const = default;
};

}  // namespace recordpipe
