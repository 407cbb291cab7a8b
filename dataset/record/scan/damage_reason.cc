#include "dataset/record/scan/damage_reason.h"

#include <algorithm>
#include <utility>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

bool is_zero(std::byte byte) { return byte == std::byte{0}; }

}  // namespace

DamageReason::DamageReason(ScanInput& input, uint64_t begin, uint64_t size, uint32_t crc,
                           const FramingRules& rules)
    : input_(input), begin_(begin) {
  if (size > 0) {
    const auto footer = input.view(begin + size - kRecordFooterSize, kRecordFooterSize);
    set(corrupted_data(input.path(), begin, crc, footer.first<kRecordFooterSize>()));
    return;
  }
  const auto rest = input.view(begin, kBytesForHint);
  const auto head = rest.first(std::min(rest.size(), kRecordHeaderSize));
  if (std::ranges::all_of(head, is_zero)) what_ = What::zeros;
  RecordFrame frame = parse_record_header(rest, input.left(begin).value_or(UINT64_MAX), rules);
  // A valid header here means that another program is changing the file.
  if (frame.ok()) frame.fault = FramingFault::data_cut;
  const Error error = framing_error(frame, input.path(), begin, rest, rules);
  set(error);
  switch (frame.fault) {
    case FramingFault::length_crc: {
      const auto stored = load_little_endian<uint32_t>(head.data() + 8);
      const bool unmasked = stored == crc32c(head.first<8>());
      if (what_ == What::other && !unmasked) what_ = What::length_crc;
      break;
    }
    case FramingFault::too_long:
      reason_ = "a length of " + std::to_string(frame.length) + " bytes, more than the " +
                std::to_string(rules.max_record_size) + " allowed: corrupted record";
      break;
    case FramingFault::data_cut:
    case FramingFault::footer_cut:
      what_ = What::past_end;
      break;
    default:
      break;
  }
}

void DamageReason::set(const Error& error) {
  reason_ = error.reason();
  hint_ = error.hint();
  remedy_ = error.remedy();
}

bool DamageReason::is_a_gap(uint64_t end) {
  const ContentGap* gap = input_.gap();
  if (gap == nullptr || gap->offset > end) return false;
  reason_ = reason_of_gap(*gap);
  hint_ = gap->error.hint();
  remedy_ = gap->error.remedy();
  compressed_lost_ = input_.pass_gaps(end);
  return true;
}

DamagedRegion DamageReason::region_before_record(uint64_t end) && {
  if (input_.changed()) set(cut_while_mapped(input_.path(), begin_));
  if (!is_a_gap(end) && what_ == What::past_end) {
    reason_ = "the length reaches beyond the end of the file: corrupted record";
    hint_ = kDamagedFileHint;
    remedy_ = Remedy::salvage;
  } else if (hint_ == kNoRecordsHint) {  // the first one is damaged
    hint_ = kDamagedFileHint;
    remedy_ = Remedy::salvage;
  }
  return {begin_, end, std::move(reason_), std::move(hint_), remedy_, compressed_lost_};
}

DamagedRegion DamageReason::region_to_end(uint64_t end, bool zeros) && {
  if (input_.changed()) {
    set(cut_while_mapped(input_.path(), begin_));
  } else if (is_a_gap(end)) {
    // The reason is already set.
  } else if (zeros) {
    reason_ = "zeros up to the end of the file";
    hint_ = "the file was probably not written to its end";
    remedy_ = Remedy::none;
  } else if (what_ == What::length_crc && begin_ > 0) {
    reason_ =
        "no record follows up to the end of the file: garbage, or a corrupted record with a "
        "length CRC mismatch";
  }
  return {begin_, end, std::move(reason_), std::move(hint_), remedy_, compressed_lost_};
}

DamagedRegion DamageReason::region_of_rest(uint64_t end) && {
  is_a_gap(end);
  if (input_.changed()) set(cut_while_mapped(input_.path(), begin_));
  return {begin_, end, std::move(reason_), std::move(hint_), remedy_, compressed_lost_};
}

DamagedRegion DamageReason::region_given_up(uint64_t end) && {
  is_a_gap(end);
  reason_ += ", and no intact record in " + std::to_string(end - begin_) + " bytes: given up";
  return {begin_, end, std::move(reason_), std::move(hint_), remedy_, compressed_lost_};
}

std::string reason_of_gap(const ContentGap& gap) {
  std::string reason = gap.error.reason();
  if (const auto offset = gap.error.offset()) {
    reason += " at " + std::to_string(*offset) + " of the file";
  }
  if (gap.lost == 0) return reason;
  const std::string lost = std::to_string(gap.lost);
  if (!gap.file_size) return reason + "; " + lost + " compressed bytes after it are lost";
  return reason + "; the rest of the file, " + lost + " of its " + std::to_string(*gap.file_size) +
         " compressed bytes, is lost";
}

}  // namespace recordpipe
