// Decompresses gzip members with ISA-L.
#include "dataset/io/compression/inflate_engine.h"

#if RECORDPIPE_ISAL

#include <algorithm>
#include <cstring>

#include <isa-l/igzip_lib.h>

namespace recordpipe {
namespace {

constexpr size_t kMaxPerCall = size_t{1} << 30;  // uint32_t

// When ISA-L's fast loop finds damage, its counts include bytes that it neither consumed nor
// produced. The loop needs eight bytes of input; with fewer, ISA-L decodes symbol by symbol and its
// counts are exact. Therefore step() approaches damage with calls on less and less input.
constexpr size_t kExactInput = 7;

// Returns the reason for a failure, in zlib's wording.
const char* reason_of(int result) {
  switch (result) {
    case ISAL_INVALID_WRAPPER:
      return "incorrect header check";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid code";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance too far back";
    case ISAL_INCORRECT_CHECKSUM:
      return "incorrect data check";
    default:
      return "no reason given";
  }
}

class IsalInflateEngine final : public InflateEngine {
 public:
  IsalInflateEngine() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;  // checks the trailer; the header is read below
    isal_gzip_header_init(&header_);
  }

  InflateStep step(std::span<const std::byte> in, std::span<std::byte> out) override {
    const size_t wanted = std::min(out.size(), kMaxPerCall);
    while (true) {
      const size_t given = std::min(in.size(), limit_);
      // ISA-L does not write to its input, but the pointer is not const.
      state_.next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(in.data()));
      state_.avail_in = static_cast<uint32_t>(given);
      state_.next_out = reinterpret_cast<uint8_t*>(out.data());
      state_.avail_out = static_cast<uint32_t>(wanted);
      if (!damage_ && in_header_) {
        damage_ = read_header();
      } else if (!damage_) {
        saved_ = state_;
        const int result = isal_inflate(&state_);
        if (result < 0 && given > kExactInput) {
          state_ = saved_;
          limit_ = std::max(kExactInput, given / 16);
          continue;
        }
        if (result < 0) damage_ = reason_of(result);
        only_check_ = result == ISAL_INCORRECT_CHECKSUM;
      }
      return end_step(given, wanted);
    }
  }

  size_t unused() const override {
    return static_cast<size_t>(std::max(state_.read_in_length, 0)) / 8;
  }

  void start_again() override {
    isal_inflate_reset(&state_);
    isal_gzip_header_init(&header_);
    in_header_ = true;
    damage_ = nullptr;
    only_check_ = false;
    limit_ = kMaxPerCall;
  }

 private:
  // Separate from isal_inflate(): that function loses the flags of a header that is split over
  // several calls.
  const char* read_header() {
    const int result = isal_read_gzip_header(&state_, &header_);
    if (result == ISAL_INCORRECT_CHECKSUM) return "header crc mismatch";
    if (result < 0) return reason_of(result);
    in_header_ = result != ISAL_DECOMP_OK;
    return nullptr;
  }

  InflateStep end_step(size_t given, size_t wanted) {
    // The output decoded before the damage is returned first, in as many steps as necessary.
    if (damage_) take_decoded();
    InflateStep step{.taken = given - state_.avail_in, .made = wanted - state_.avail_out};
    if (damage_ && decoded() == 0) step.damage = damage_;
    step.only_check = only_check_;
    step.ended = !damage_ && state_.block_state == ISAL_BLOCK_FINISH;
    // Prevents an endless loop if ISA-L makes no progress.
    if (!damage_ && !step.ended && step.taken == 0 && step.made == 0 && given && wanted) {
      step.damage = "no progress";
    }
    return step;
  }

  // The number of decoded bytes in ISA-L's internal buffer.
  uint32_t decoded() const {
    return static_cast<uint32_t>(
        std::max(state_.tmp_out_valid - state_.tmp_out_processed, int32_t{0}));
  }

  void take_decoded() {
    const uint32_t count = std::min(decoded(), state_.avail_out);
    std::memcpy(state_.next_out, state_.tmp_out_buffer + state_.tmp_out_processed, count);
    state_.tmp_out_processed += static_cast<int32_t>(count);
    state_.next_out += count;
    state_.avail_out -= count;
  }

  inflate_state state_;
  inflate_state saved_;
  size_t limit_ = kMaxPerCall;  // input bytes per call
  isal_gzip_header header_;
  bool in_header_ = true;
  const char* damage_ = nullptr;
  bool only_check_ = false;
};

}  // namespace

std::unique_ptr<InflateEngine> make_isal_inflate_engine() {
  return std::make_unique<IsalInflateEngine>();
}

}  // namespace recordpipe

#else

namespace recordpipe {

std::unique_ptr<InflateEngine> make_isal_inflate_engine() { return nullptr; }

}  // namespace recordpipe

#endif
