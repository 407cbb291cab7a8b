// inflate(): members, frames and padding, and what is said of damage; the engines do the rest.
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/damage_hint.h"
#include "dataset/base/error.h"
#include "dataset/io/inflate_engine.h"

namespace recordpipe {
namespace {

constexpr size_t kInputSize = size_t{256} << 10;

// Whether this may be the first byte of another member, or frame.
bool starts_another(Compression format, std::byte first) {
  if (format == Compression::gzip) return first == std::byte{0x1f};
  const bool is_skippable = (first & std::byte{0xf0}) == std::byte{0x50};
  return format == Compression::zstd && (first == std::byte{0x28} || is_skippable);
}

class InflatingSource final : public ByteSource {
 public:
  InflatingSource(std::unique_ptr<InflateEngine> engine, std::unique_ptr<ByteSource> compressed,
                  Compression format)
      : source_(std::move(compressed)),
        engine_(std::move(engine)),
        format_(format),
        input_(kInputSize) {}

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
  enum class Phase { member, damaged, after_member, padding, ended };

  // Goes on until a byte came out, or input is needed, or the phase changes.
  size_t step(std::span<std::byte> out) {
    // The engine may hold more than it had room for: more input is waited for only after that.
    if (rest_.empty() && !input_ended_ && (starved_ || phase_ != Phase::member)) fill();
    switch (phase_) {
      case Phase::member:
        return inflate_some(out);
      case Phase::damaged:
        fail_damaged();
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
    rest_ = std::span(input_).first(count);
    fetched_ += count;
    input_ended_ = count == 0;
  }

  size_t inflate_some(std::span<std::byte> out) {
    const bool all_given = rest_.empty() && input_ended_;
    const InflateStep step = engine_->step(rest_, out);
    rest_ = rest_.subspan(step.taken);
    starved_ = step.made == 0;
    if (step.ended) {
      phase_ = Phase::after_member;
    } else if (step.kind != ErrorKind::corrupted) {
      fail(step.kind, fetched_ - rest_.size(), step.damage);
    } else if (step.damage) {
      damage_ = step.damage;
      if (step.made == 0) fail_damaged();
      phase_ = Phase::damaged;
    } else if (step.made == 0 && all_given) {
      fail(ErrorKind::truncated, fetched_,
           std::string(to_string(format_)) + " stream ends before its trailer");
    }
    return step.made;
  }

  // Another member may follow, or zeros up to a tape's block.
  void look_after_member() {
    if (rest_.empty()) {
      if (input_ended_) phase_ = Phase::ended;
    } else if (rest_.front() == std::byte{0}) {
      phase_ = Phase::padding;
    } else if (starts_another(format_, rest_.front())) {
      engine_->start_again();
      phase_ = Phase::member;
    } else {
      fail_after_end();
    }
  }

  void skip_padding() {
    while (!rest_.empty()) {
      if (rest_.front() != std::byte{0}) fail_after_end();
      rest_ = rest_.subspan(1);
    }
    if (input_ended_) phase_ = Phase::ended;
  }

  [[noreturn]] void fail_damaged() {
    fail(ErrorKind::corrupted, fetched_ - rest_.size() - engine_->unused(),
         "damaged " + std::string(to_string(format_)) + " stream (" + damage_ + ")");
  }

  [[noreturn]] void fail_after_end() {
    fail(ErrorKind::corrupted, fetched_ - rest_.size(),
         "garbage after the end of the " + std::string(to_string(format_)) + " stream");
  }

  [[noreturn]] void fail(ErrorKind kind, uint64_t offset, std::string reason) {
    throw Error({.kind = kind,
                 .path = source_->path(),
                 .offset = offset,
                 .reason = std::move(reason),
                 .hint = hint_for(kind)});
  }

  static const char* hint_for(ErrorKind kind) {
    switch (kind) {
      case ErrorKind::truncated:
        return "the file is incomplete: fetch it again";
      case ErrorKind::limit_exceeded:
        return "compress it again, without --long or with a smaller one";
      case ErrorKind::unsupported:
        return "decompress it with the dictionary (zstd -d -D DICTIONARY), or compress it without";
      default:
        return kDamagedFileHint;
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<InflateEngine> engine_;
  Compression format_;
  std::vector<std::byte> input_;
  std::span<const std::byte> rest_;  // of input_: what the engine has not taken
  uint64_t fetched_ = 0;             // compressed bytes read so far
  bool input_ended_ = false;
  bool starved_ = true;  // the engine made nothing of what it has
  Phase phase_ = Phase::member;
  const char* damage_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<ByteSource> inflate_by(std::unique_ptr<InflateEngine> engine,
                                       std::unique_ptr<ByteSource> compressed, Compression format) {
  return std::make_unique<InflatingSource>(std::move(engine), std::move(compressed), format);
}

std::unique_ptr<ByteSource> inflate(std::unique_ptr<ByteSource> compressed, Compression format) {
  if (format == Compression::none) return compressed;
  auto engine = format == Compression::gzip   ? make_isal_inflate_engine()
                : format == Compression::zstd ? make_zstd_inflate_engine()
                                              : nullptr;
  if (!engine) engine = make_zlib_inflate_engine(format);
  return inflate_by(std::move(engine), std::move(compressed), format);
}

}  // namespace recordpipe
