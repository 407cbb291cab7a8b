// Decompresses zstd frames with libzstd.
#include <algorithm>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include "dataset/io/compression/inflate_engine.h"

namespace recordpipe {
namespace {

// A frame declares its window size, and the decoder allocates that memory. 128 MiB is the default
// limit of zstd(1).
constexpr int kMaxWindowLog = 27;

// The size of the header before each block.
constexpr size_t kBlockHeader = 3;

class ZstdInflateEngine final : public InflateEngine {
 public:
  ZstdInflateEngine() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxWindowLog);
  }

  ~ZstdInflateEngine() override { ZSTD_freeDCtx(context_); }
  ZstdInflateEngine(const ZstdInflateEngine&) = delete;
  ZstdInflateEngine& operator=(const ZstdInflateEngine&) = delete;

  InflateStep step(std::span<const std::byte> in, std::span<std::byte> out) override {
    // A call that finds damage loses the output that it made before. Therefore the content of a
    // block and the header of the next block are never passed in the same call.
    const size_t wanted = hint_ > kBlockHeader ? hint_ - kBlockHeader : 1;
    ZSTD_inBuffer input = {in.data(), std::min(in.size(), wanted), 0};
    ZSTD_outBuffer output = {out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(context_, &output, &input);
    InflateStep step{.taken = input.pos, .made = output.pos};
    undecoded_ = output.pos > 0 ? 0 : undecoded_ + input.pos;
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_no_error:
        step.ended = result == 0;
        hint_ = result;
        break;
      case ZSTD_error_memory_allocation:
        throw std::bad_alloc();
      case ZSTD_error_frameParameter_windowTooLarge:
        step.damage = "a zstd frame that needs a window of more than 128 MiB";
        step.kind = ErrorKind::limit_exceeded;
        break;
      case ZSTD_error_dictionary_wrong:
        step.damage = "a zstd frame that needs the dictionary it was compressed with";
        step.kind = ErrorKind::unsupported;
        break;
      case ZSTD_error_checksum_wrong:
        step.only_check = true;
        undecoded_ = 0;
        [[fallthrough]];
      default:
        step.damage = ZSTD_getErrorName(result);
    }
    return step;
  }

  size_t unused() const override { return 0; }
  size_t undecoded() const override { return undecoded_; }

  void start_again() override {
    ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
    hint_ = 0;
    undecoded_ = 0;
  }

 private:
  ZSTD_DCtx* context_;
  size_t hint_ = 0;       // input bytes expected next, including the header of the following block
  size_t undecoded_ = 0;  // bytes of a block that isn't decoded: a block is decoded as a whole
};

}  // namespace

std::unique_ptr<InflateEngine> make_zstd_inflate_engine() {
  return std::make_unique<ZstdInflateEngine>();
}

}  // namespace recordpipe
