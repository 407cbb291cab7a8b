// deflate(): writes gzip and zlib streams with zlib. zstd: zstd_sink.cc.
#include <algorithm>
#include <new>
#include <vector>

#include <zlib.h>

#include "dataset/io/compression/deflate_block.h"
#include "dataset/io/compression/zlib_parameters.h"
#include "dataset/io/compression/zstd_sink.h"
#include "recordpipe/io/compression.h"

namespace recordpipe {
namespace {

constexpr size_t kDeflateOutputSize = size_t{256} << 10;

class DeflatingSink final : public ByteSink {
 public:
  DeflatingSink(ByteSink& sink, const DeflateOptions& options)
      : sink_(sink), output_(kDeflateOutputSize) {
    const int window = options.format == Compression::gzip ? kGzipWindow : kZlibWindow;
    if (deflateInit2(&stream_, options.level, Z_DEFLATED, window, kZlibMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }

  ~DeflatingSink() override { deflateEnd(&stream_); }
  DeflatingSink(const DeflatingSink&) = delete;
  DeflatingSink& operator=(const DeflatingSink&) = delete;

  void write(std::span<const std::byte> data) override {
    constexpr size_t kMax = size_t{1} << 30;  // avail_in is an unsigned int
    while (!data.empty()) {
      const size_t count = std::min(data.size(), kMax);
      // zlib does not write to its input.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
      stream_.avail_in = static_cast<uInt>(count);
      run(Z_NO_FLUSH);
      data = data.subspan(count);
    }
  }

  void close() override { run(Z_FINISH); }

  const std::string& path() const override { return sink_.path(); }

 private:
  // Compresses all input; with Z_FINISH, also writes the trailer.
  void run(int flush) {
    bool full = true;
    while (full) {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      ::deflate(&stream_, flush);
      full = stream_.avail_out == 0;
      const size_t made = output_.size() - stream_.avail_out;
      if (made > 0) sink_.write(std::span(output_).first(made));
    }
  }

  ByteSink& sink_;
  std::vector<std::byte> output_;
  z_stream stream_ = {};
};

}  // namespace

std::unique_ptr<ByteSink> deflate(ByteSink& sink, const DeflateOptions& options) {
  require_deflate_level(options.format, options.level);
  if (options.format == Compression::zstd) return make_zstd_sink(sink, options.level);
  return std::make_unique<DeflatingSink>(sink, options);
}

}  // namespace recordpipe
