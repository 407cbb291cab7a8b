// Goes through a content from one intact record or damaged region to the next: what scanners are
// made of (record_scanner.h, parallel_record_scanner.h).
//
// A record is intact where its length fits into what is left and both CRCs fit. What follows from a
// place depends on the content alone, not on how the walk came there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <variant>

#include "dataset/toolkit/scan/range_crc.h"
#include "dataset/toolkit/scan/scan_input.h"
#include "recordpipe/record.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "recordpipe/toolkit/parallel_record_scanner.h"

namespace recordpipe {

struct RecordWalkLimits {
  // The walk ends before what can't be told without reading past this offset.
  uint64_t horizon = UINT64_MAX;
  // Longer records are damage.
  uint64_t max_record_size = UINT64_MAX;
  // So far a record is looked for behind damage; then the walk ends there.
  uint64_t max_region = UINT64_MAX;
};

class RecordWalk {
 public:
  using Step = std::variant<IntactRecords, DamagedRegion>;

  RecordWalk(ScanInput& input, uint64_t begin, RecordWalkLimits limits, std::stop_token stop);

  // The next intact record, alone, or the damaged region before it; nothing at the end of the
  // content (or of `limits`), and ever after. Throws Error{cancelled} once a stop was requested,
  // and what the input throws.
  std::optional<Step> next();

  // The record that the last next() found; its data is valid until the next call.
  Record record(const IntactRecords& found);

  // Passes over intact records that start before `until`; says how many. It ends at what isn't one,
  // and may end before.
  uint64_t pass_intact(uint64_t until);

  // Goes to the first intact record that starts in [position(), end); false, and stays, where there
  // is none.
  bool find_before(uint64_t end);

  // Where the next record or region begins.
  uint64_t position() const { return position_; }
  // Goes on at `position`, which isn't before this one.
  void seek(uint64_t position);

 private:
  enum class Verdict { intact, damaged, undecided };
  struct Checked {
    Verdict verdict = Verdict::damaged;
    uint64_t size = 0;  // of an intact record, framing included
    uint32_t crc = 0;   // of the data, where it was computed
  };

  Checked check(uint64_t at);
  uint32_t data_crc(uint64_t begin, uint64_t end);
  uint64_t zeros_from(uint64_t at);
  // The first intact record in [from, end): its place; or where the search ended, and how.
  struct Found {
    enum class How { record, content_end, limit, undecided } how;
    uint64_t at;
  };
  Found search(uint64_t from, uint64_t end);
  std::optional<Step> damage(const Checked& checked);
  std::optional<Step> gap_here();

  ScanInput& input_;
  const RecordWalkLimits limits_;
  const std::stop_token stop_;
  RangeCrc range_crc_;
  const uint64_t start_;
  uint64_t position_;
  uint64_t in_vain_ = 0;  // bytes of data whose CRCs pass_intact() found wrong
  // Whether a data CRC didn't fit: from then on ranges may overlap, and the window stays at
  // position_.
  bool suspicious_ = false;
  bool ended_ = false;
};

}  // namespace recordpipe
