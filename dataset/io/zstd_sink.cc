// Compressing by libzstd (https://datatracker.ietf.org/doc/html/rfc8878).
#include "dataset/io/zstd_sink.h"

#include <new>
#include <string>
#include <vector>

#include <zstd.h>

namespace recordpipe {
namespace {

constexpr size_t kOutputSize = size_t{256} << 10;

class ZstdSink final : public ByteSink {
 public:
  ZstdSink(ByteSink& sink, int level)
      : sink_(sink), output_(kOutputSize), context_(ZSTD_createCCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }

  ~ZstdSink() override { ZSTD_freeCCtx(context_); }
  ZstdSink(const ZstdSink&) = delete;
  ZstdSink& operator=(const ZstdSink&) = delete;

  void write(std::span<const std::byte> data) override {
    ZSTD_inBuffer input = {data.data(), data.size(), 0};
    while (input.pos < input.size) run(input, ZSTD_e_continue);
  }

  void close() override {
    ZSTD_inBuffer nothing = {nullptr, 0, 0};
    while (run(nothing, ZSTD_e_end) > 0) {
    }
  }

  const std::string& path() const override { return sink_.path(); }

 private:
  // Returns how much is left to be written.
  size_t run(ZSTD_inBuffer& input, ZSTD_EndDirective directive) {
    ZSTD_outBuffer output = {output_.data(), output_.size(), 0};
    const size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
    if (ZSTD_isError(left)) throw std::bad_alloc();  // it has no other reason to fail
    if (output.pos > 0) sink_.write(std::span(output_).first(output.pos));
    return left;
  }

  ByteSink& sink_;
  std::vector<std::byte> output_;
  ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<ByteSink> make_zstd_sink(ByteSink& sink, int level) {
  return std::make_unique<ZstdSink>(sink, level);
}

}  // namespace recordpipe
