// Walks through a content from one intact record or damaged region to the next: the common part of
// the scanners (record_scanner.h, parallel_record_scanner.h).
//
// A record is intact if its length fits into the rest of the content and both CRCs are valid. The
// results from an offset depend on the content alone, not on how the walk got there.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <variant>

#include "dataset/record/scan/damage_reason.h"
#include "dataset/record/scan/range_crc.h"
#include "dataset/record/scan/scan_input.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/parallel_record_scanner.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

struct RecordWalkLimits {
  // The walk ends before data that can't be checked without reading past this offset.
  uint64_t horizon = UINT64_MAX;
  // Longer records count as damage.
  uint64_t max_record_size = UINT64_MAX;
  // The distance to search for a record after damage. If no record is found, the walk ends.
  uint64_t max_region = UINT64_MAX;
  // resync or skip_file.
  OnDamage on_damage = OnDamage::resync;
  Compression compression = Compression::none;  // of the file
};

class RecordWalk {
 public:
  using Step = std::variant<IntactRecords, DamagedRegion>;

  RecordWalk(ScanInput& input, uint64_t begin, RecordWalkLimits limits, std::stop_token stop);

  // Returns the next intact record, or the damaged region before it; std::nullopt at the end of the
  // content (or where `limits` end the walk), and on every later call. Throws Error{cancelled}
  // after a stop request, and the input's errors.
  std::optional<Step> next();

  // Returns the record `found`, the result of the last next(). Its data is valid until the next
  // call.
  Record record(const IntactRecords& found);

  // Skips intact records that start before `until`, and returns their number. Stops at damage, and
  // may stop earlier.
  uint64_t pass_intact(uint64_t until);

  // Moves to the first intact record that starts in [position(), end). Returns false and doesn't
  // move if there is none.
  bool find_before(uint64_t end);

  // The offset of the next record or region.
  uint64_t position() const { return position_; }
  // Continues at `position`, which must not be less than position().
  void seek(uint64_t position);

 private:
  enum class Verdict { intact, damaged, undecided };
  struct Checked {
    Verdict verdict = Verdict::damaged;
    uint64_t size = 0;  // of a complete record, including framing
    uint32_t crc = 0;   // of the data, if it was computed
  };

  Checked check(uint64_t at);
  uint32_t data_crc(uint64_t begin, uint64_t end);
  uint64_t zeros_from(uint64_t at);
  // The first intact record in [from, end), or the reason why the search ended at `at`.
  struct Found {
    enum class How { record, content_end, limit, undecided } how;
    uint64_t at;
  };
  Found search(uint64_t from, uint64_t end);
  std::optional<Step> damage(const Checked& checked);
  DamagedRegion damage_up_to_framing(Checked checked, DamageReason reason);
  uint64_t content_end(uint64_t at);
  bool has_gap(uint64_t up_to) const;
  std::optional<Step> gap_here();

  ScanInput& input_;
  const RecordWalkLimits limits_;
  const std::stop_token stop_;
  RangeCrc range_crc_;
  const uint64_t start_;
  uint64_t position_;
  uint64_t in_vain_ = 0;  // bytes of data in which pass_intact() found a wrong CRC
  // Whether a data CRC was wrong: from then on ranges may overlap, and the window stays at
  // position_.
  bool suspicious_ = false;
  bool ended_ = false;
};

}  // namespace recordpipe
