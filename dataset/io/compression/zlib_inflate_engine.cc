// Decompresses gzip members and zlib streams with zlib.
#include <algorithm>
#include <new>
#include <string_view>

#include <zlib.h>

#include "dataset/io/compression/inflate_engine.h"
#include "dataset/io/compression/zlib_parameters.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxAtOnce = size_t{1} << 30;  // uInt

class ZlibInflateEngine final : public InflateEngine {
 public:
  explicit ZlibInflateEngine(Compression format) {
    if (inflateInit2(&stream_, format == Compression::gzip ? kGzipWindow : kZlibWindow) != Z_OK) {
      throw std::bad_alloc();
    }
  }

  ~ZlibInflateEngine() override { inflateEnd(&stream_); }
  ZlibInflateEngine(const ZlibInflateEngine&) = delete;
  ZlibInflateEngine& operator=(const ZlibInflateEngine&) = delete;

  InflateStep step(std::span<const std::byte> in, std::span<std::byte> out) override {
    const auto given = static_cast<uInt>(std::min(in.size(), kMaxAtOnce));
    const auto wanted = static_cast<uInt>(std::min(out.size(), kMaxAtOnce));
    // zlib does not write to its input, but the pointer is not const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = wanted;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    InflateStep step{.taken = given - stream_.avail_in, .made = wanted - stream_.avail_out};
    if (result == Z_STREAM_END) {
      step.ended = true;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      step.damage = stream_.msg ? stream_.msg : "no reason given";
      const std::string_view reason = step.damage;
      step.only_check = reason == "incorrect data check" || reason == "incorrect length check";
    }
    return step;
  }

  size_t unused() const override { return 0; }
  void start_again() override { inflateReset(&stream_); }

 private:
  z_stream stream_ = {};
};

}  // namespace

std::unique_ptr<InflateEngine> make_zlib_inflate_engine(Compression format) {
  return std::make_unique<ZlibInflateEngine>(format);
}

}  // namespace recordpipe
