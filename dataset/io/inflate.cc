// Inflating gzip and zlib streams (compression.h) by zlib.
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include "dataset/base/error.h"
#include "dataset/io/compression.h"

namespace recordpipe {
namespace {

constexpr size_t kInputSize = size_t{256} << 10;
constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 16 + 15;

class InflatingSource final : public ByteSource {
 public:
  InflatingSource(std::unique_ptr<ByteSource> compressed, Compression format)
      : source_(std::move(compressed)), format_(format), input_(kInputSize) {
    if (inflateInit2(&stream_, format == Compression::gzip ? kGzipWindow : kZlibWindow) != Z_OK) {
      throw std::bad_alloc();
    }
  }

  ~InflatingSource() override { inflateEnd(&stream_); }
  InflatingSource(const InflatingSource&) = delete;
  InflatingSource& operator=(const InflatingSource&) = delete;

  size_t read(std::span<std::byte> out) override {
    if (failure_) std::rethrow_exception(failure_);
    size_t made = 0;
    try {
      while (made == 0 && !out.empty() && phase_ != Phase::ended) made = step(out);
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    return made;
  }

  const std::string& path() const override { return source_->path(); }

 private:
  enum class Phase { member, after_member, padding, ended };

  // Goes on until a byte came out, or input is needed, or the phase changes.
  size_t step(std::span<std::byte> out) {
    if (stream_.avail_in == 0 && !input_ended_) fill();
    switch (phase_) {
      case Phase::member:
        return inflate_some(out);
      case Phase::after_member:
        look_after_member();
        break;
      case Phase::padding:
        skip_padding();
        break;
      case Phase::ended:
        break;
    }
    return 0;
  }

  void fill() {
    const size_t count = source_->read(input_);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    fetched_ += count;
    input_ended_ = count == 0;
  }

  size_t inflate_some(std::span<std::byte> out) {
    const size_t wanted = std::min(out.size(), size_t{1} << 30);  // uInt
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    const uInt given = stream_.avail_in;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    const size_t made = wanted - stream_.avail_out;
    if (result == Z_STREAM_END) {
      phase_ = format_ == Compression::gzip ? Phase::after_member : Phase::padding;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      // What came out before the damage is given out first: zlib says the same again when asked.
      if (made > 0) return made;
      fail(ErrorKind::corrupted, std::string("damaged ") + std::string(to_string(format_)) +
                                     " stream (" + (stream_.msg ? stream_.msg : "no reason given") +
                                     ")");
    } else if (made == 0 && input_ended_ && given == 0) {
      fail(ErrorKind::truncated,
           std::string(to_string(format_)) + " stream ends before its trailer");
    }
    return made;
  }

  // gzip: another member may follow, or zeros up to a tape's block.
  void look_after_member() {
    if (stream_.avail_in == 0) {
      if (input_ended_) phase_ = Phase::ended;
    } else if (*stream_.next_in == 0) {
      phase_ = Phase::padding;
    } else if (*stream_.next_in == 0x1f) {
      inflateReset(&stream_);
      phase_ = Phase::member;
    } else {
      fail_after_end();
    }
  }

  void skip_padding() {
    while (stream_.avail_in > 0) {
      if (*stream_.next_in != 0) fail_after_end();
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (input_ended_) phase_ = Phase::ended;
  }

  [[noreturn]] void fail_after_end() {
    fail(ErrorKind::corrupted,
         "garbage after the end of the " + std::string(to_string(format_)) + " stream");
  }

  [[noreturn]] void fail(ErrorKind kind, std::string reason) {
    throw Error(
        {.kind = kind,
         .path = source_->path(),
         .offset = fetched_ - stream_.avail_in,
         .reason = std::move(reason),
         .hint = kind == ErrorKind::truncated
                     ? "the file is incomplete: fetch it again"
                     : "the file is damaged: compare it with its source, or fetch it again"});
  }

  std::unique_ptr<ByteSource> source_;
  Compression format_;
  std::vector<std::byte> input_;
  z_stream stream_ = {};
  uint64_t fetched_ = 0;  // compressed bytes read so far
  bool input_ended_ = false;
  Phase phase_ = Phase::member;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<ByteSource> inflate(std::unique_ptr<ByteSource> compressed, Compression format) {
  if (format == Compression::none) return compressed;
  return std::make_unique<InflatingSource>(std::move(compressed), format);
}

}  // namespace recordpipe
