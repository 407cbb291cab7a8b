// Compresses zstd frames with libzstd (https://datatracker.ietf.org/doc/html/rfc8878).
#include "dataset/io/compression/zstd_sink.h"

#include <new>
#include <vector>

#include <zstd.h>

namespace recordpipe {
namespace {

constexpr size_t kZstdOutputSize = size_t{256} << 10;

ZSTD_CCtx* make_context(int level) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  return context;
}

class ZstdSink final : public ByteSink {
 public:
  ZstdSink(ByteSink& sink, int level)
      : sink_(sink), output_(kZstdOutputSize), context_(make_context(level)) {}

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
  // Returns the number of bytes that remain to be written.
  size_t run(ZSTD_inBuffer& input, ZSTD_EndDirective directive) {
    ZSTD_outBuffer output = {output_.data(), output_.size(), 0};
    const size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
    if (ZSTD_isError(left)) throw std::bad_alloc();  // the only possible failure
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

std::string zstd_frame(std::span<const std::byte> content, int level) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(make_context(level),
                                                                     &ZSTD_freeCCtx);
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), content.data(), content.size());
  if (ZSTD_isError(size)) throw std::bad_alloc();  // the only possible failure
  out.resize(size);
  return out;
}

}  // namespace recordpipe
