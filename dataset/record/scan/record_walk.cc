#include "dataset/record/scan/record_walk.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "dataset/record/record_framing.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

// Below this size, computing a CRC costs about as much as RangeCrc's bookkeeping.
constexpr uint64_t kShort = 4096;
// When the bytes that pass_intact() read in vain exceed the walk's progress by more than this,
// pass_intact() accepts only short records.
constexpr uint64_t kMaxWalkedInVain = uint64_t{1} << 20;
// The number of offsets between checks for a stop request.
constexpr uint64_t kPlacesAtOnce = uint64_t{1} << 18;

// Returns the number of zeros at the beginning.
size_t leading_zeros(std::span<const std::byte> data) {
  if (data.empty() || data.front() != std::byte{0}) return 0;
  // memcmp() is many times as fast as a loop over bytes.
  if (std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0) return data.size();
  const auto other = std::ranges::find_if(data, [](std::byte b) { return b != std::byte{0}; });
  return static_cast<size_t>(other - data.begin());
}

}  // namespace

RecordWalk::RecordWalk(ScanInput& input, uint64_t begin, RecordWalkLimits limits,
                       std::stop_token stop)
    : input_(input),
      limits_(limits),
      stop_(std::move(stop)),
      range_crc_(input),
      start_(begin),
      position_(begin) {}

void RecordWalk::seek(uint64_t position) {
  position_ = position;
  input_.forget(position);
}

uint32_t RecordWalk::data_crc(uint64_t begin, uint64_t end) {
  return end - begin <= kShort ? input_.extend_crc(0, begin, end) : range_crc_.of(begin, end);
}

RecordWalk::Checked RecordWalk::check(uint64_t at) {
  if (limits_.horizon - at < kRecordOverhead) return {.verdict = Verdict::undecided};
  const auto left = input_.left(at);
  const auto head = input_.window(at, kRecordOverhead);
  const RecordFrame frame = parse_record_header(head, left.value_or(UINT64_MAX),
                                                {.max_record_size = limits_.max_record_size});
  if (!frame.ok()) return {};
  const uint64_t size = frame.size();
  if (size > limits_.horizon - at) return {.verdict = Verdict::undecided};
  if (!left && input_.view(at, size).size() < size) return {};  // a stream may end earlier
  const uint64_t data = at + kRecordHeaderSize;
  const uint64_t data_end = data + frame.length;
  uint32_t crc = 0;
  std::span<const std::byte> footer;
  if (!suspicious_ && size <= FileScanInput::kWindow) {
    const auto record = input_.window(at, size);  // contiguous, for record()
    crc = crc32c(frame.data(record));
    footer = frame.footer(record);
  } else if (!suspicious_) {
    crc = input_.crc_in_passing(data, data_end);
    footer = input_.window(data_end, kRecordFooterSize);
  } else {
    crc = data_crc(data, data_end);
    footer = input_.view(data_end, kRecordFooterSize);
    input_.release(data_end, data_end + kRecordFooterSize);
  }
  if (load_little_endian<uint32_t>(footer.data()) == mask_crc(crc)) {
    return {.verdict = Verdict::intact, .size = size, .crc = crc};
  }
  suspicious_ = true;
  return {.verdict = Verdict::damaged, .size = size, .crc = crc};
}

Record RecordWalk::record(const IntactRecords& found) {
  const uint64_t size = found.end - found.begin;
  const auto data = input_.view(found.begin, size).subspan(kRecordHeaderSize);
  return {.data = data.first(size - kRecordOverhead), .offset = found.begin};
}

std::optional<RecordWalk::Step> RecordWalk::next() {
  input_.forget(position_);
  throw_if_stopped(stop_, input_.path());
  if (ended_) return std::nullopt;
  ended_ = input_.window(position_, 1).empty();
  if (ended_) return gap_here();
  const Checked checked = check(position_);
  if (checked.verdict == Verdict::undecided) return std::nullopt;
  if (checked.verdict == Verdict::damaged) return damage(checked);
  if (auto gap = gap_here()) return gap;
  const uint64_t begin = position_;
  position_ += checked.size;
  return IntactRecords{begin, position_, 1};
}

bool RecordWalk::has_gap(uint64_t up_to) const {
  return input_.gap() != nullptr && input_.gap()->offset <= up_to;
}

// Returns the gap at position_, if any, as an empty region. The gap is between intact records or
// within the previous record: whole records may be missing from the content, or only a checksum may
// be wrong.
std::optional<RecordWalk::Step> RecordWalk::gap_here() {
  if (!has_gap(position_)) return std::nullopt;
  const ContentGap gap = *input_.gap();
  DamagedRegion region{position_, position_, reason_of_gap(gap), gap.error.hint(),
                       gap.error.remedy()};
  if (limits_.on_damage == OnDamage::skip_file) {
    region.end = position_ = content_end(position_);
    ended_ = true;
  }
  region.compressed_lost = input_.pass_gaps(position_);
  return region;
}

uint64_t RecordWalk::pass_intact(uint64_t until) {
  // Longer records are left to next(), which doesn't read the same bytes again for each of many
  // false headers.
  const bool trusting = in_vain_ <= position_ - start_ + kMaxWalkedInVain;
  const FramingRules rules = {.max_record_size =
                                  trusting ? FileScanInput::kWindow - kRecordOverhead : kShort};
  uint64_t records = 0;
  uint64_t wanted = kRecordOverhead;  // known size of the next record
  while (position_ < until) {
    auto rest = input_.window(position_, wanted);
    rest = rest.first(std::min<uint64_t>(rest.size(), limits_.horizon - position_));
    if (rest.size() < wanted) break;
    wanted = kRecordOverhead;
    const uint64_t stop_at = std::min(until, position_ + input_.piece());
    while (position_ < stop_at && rest.size() >= kRecordOverhead) {
      const RecordFrame frame = parse_record_header(rest, UINT64_MAX, rules);
      if (!frame.ok()) return records;
      if (frame.size() > rest.size()) {
        wanted = frame.size();
        break;
      }
      if (!frame.data_fits(rest)) {
        in_vain_ += frame.length;
        return records;
      }
      rest = rest.subspan(frame.size());
      position_ += frame.size();
      records += 1;
    }
    input_.forget(position_);
  }
  return records;
}

bool RecordWalk::find_before(uint64_t end) {
  const Found found = search(position_, end);
  if (found.how != Found::How::record) return false;
  position_ = found.at;
  return true;
}

// Returns the end of the zeros that begin at `at`.
uint64_t RecordWalk::zeros_from(uint64_t at) {
  const uint64_t last =
      std::min(at + std::min(limits_.max_region, UINT64_MAX - at), limits_.horizon);
  while (at < last) {
    throw_if_stopped(stop_, input_.path());
    auto view = input_.window(at, 1);
    view = view.first(std::min<uint64_t>({view.size(), kPlacesAtOnce, last - at}));
    const size_t zeros = leading_zeros(view);
    at += zeros;
    // A header may begin with some of these zeros.
    input_.forget(std::max(position_, at - std::min<uint64_t>(at, kRecordHeaderSize)));
    if (view.empty() || zeros < view.size()) break;
  }
  return at;
}

RecordWalk::Found RecordWalk::search(uint64_t from, uint64_t end) {
  const auto is_zero_header = [](uint64_t length, uint32_t crc) { return (length | crc) == 0; };
  uint64_t at = from;
  while (at < end) {
    throw_if_stopped(stop_, input_.path());
    if (limits_.horizon - at < kRecordOverhead) return {Found::How::undecided, at};
    const auto here = input_.window(at, kRecordOverhead);
    if (here.size() < kRecordOverhead) return {Found::How::content_end, at + here.size()};
    const uint64_t places = std::min<uint64_t>(
        {here.size() - kRecordOverhead + 1, kPlacesAtOnce, end - at, limits_.horizon - at});
    const uint64_t most =
        std::min(input_.left(at).value_or(UINT64_MAX) - kRecordOverhead, limits_.max_record_size);
    // This loop skips most offsets: a plausible length has zeros where other data has none.
    uint64_t i = 0;
    for (; i < places; ++i) {
      const auto length = load_little_endian<uint64_t>(here.data() + i);
      if (length > most) continue;
      const auto crc = load_little_endian<uint32_t>(here.data() + i + 8);
      if (is_zero_header(length, crc)) continue;
      if (parse_record_header(here.subspan(i), UINT64_MAX).ok()) break;
    }
    at += i;
    input_.forget(at);
    if (i == places) continue;
    const Verdict verdict = check(at).verdict;
    if (verdict == Verdict::intact) return {Found::How::record, at};
    if (verdict == Verdict::undecided) return {Found::How::undecided, at};
    at += 1;
  }
  return {Found::How::limit, at};
}

// Passes over the rest of the content, from `at` on.
uint64_t RecordWalk::content_end(uint64_t at) {
  while (true) {
    throw_if_stopped(stop_, input_.path());
    if (const auto left = input_.left(at)) return at + *left;
    at += input_.window(at, 1).size();
    input_.forget(at);
  }
}

// Passes over records of which only the data is wrong, as `checked` is; after other damage, over
// the rest of the content.
DamagedRegion RecordWalk::damage_up_to_framing(Checked checked, DamageReason reason) {
  while (checked.size > 0 && !has_gap(position_ + checked.size)) {
    position_ += checked.size;
    input_.forget(position_);
    throw_if_stopped(stop_, input_.path());
    if (input_.window(position_, 1).empty()) break;
    checked = check(position_);
    if (checked.verdict == Verdict::intact) {
      return std::move(reason).region_before_record(position_);
    }
  }
  position_ = content_end(position_);
  ended_ = true;
  return std::move(reason).region_of_rest(position_);
}

std::optional<RecordWalk::Step> RecordWalk::damage(const Checked& checked) {
  const uint64_t begin = position_;
  DamageReason reason(
      input_, begin, checked.size, checked.crc,
      {.max_record_size = limits_.max_record_size, .compression = limits_.compression});
  if (limits_.on_damage == OnDamage::skip_file) {
    return damage_up_to_framing(checked, std::move(reason));
  }
  uint64_t from = begin + 1;
  uint64_t zeros_end = begin;
  if (reason.begins_with_zeros()) {
    zeros_end = zeros_from(begin);
    // A header of zeros is never valid.
    from = std::max(from, zeros_end - std::min<uint64_t>(zeros_end - begin, kRecordHeaderSize - 1));
  }
  const uint64_t limit = begin + std::min(limits_.max_region, UINT64_MAX - begin);
  const Found found = search(from, limit);
  if (found.how == Found::How::undecided) return std::nullopt;
  position_ = found.at;
  ended_ = found.how != Found::How::record;
  if (!ended_) return std::move(reason).region_before_record(found.at);
  if (found.how == Found::How::limit) return std::move(reason).region_given_up(found.at);
  return std::move(reason).region_to_end(found.at, zeros_end == found.at);
}

}  // namespace recordpipe
