// inflate(): handles members, frames, padding and errors; the engines decompress.
#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/damage_hint.h"
#include "dataset/io/compression/inflate_engine.h"
#include "dataset/io/compression/inflate_input.h"
#include "dataset/io/compression/lost_content.h"
#include "dataset/io/compression/member_search.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Of gzip's trailer, the longest. Bytes of a trailer, or beside it, are no lost content.
constexpr uint64_t kTrailerSize = 8;

// Whether `first` may be the first byte of another member or frame.
bool starts_another(Compression format, std::byte first) {
  if (format == Compression::gzip) return first == std::byte{0x1f};
  const bool is_skippable = (first & std::byte{0xf0}) == std::byte{0x50};
  return format == Compression::zstd && (first == std::byte{0x28} || is_skippable);
}

class InflatingSource final : public ByteSource {
 public:
  InflatingSource(std::unique_ptr<InflateEngine> engine, std::unique_ptr<ByteSource> compressed,
                  Compression format, const InflateOptions& options)
      : source_(std::move(compressed)),
        engine_(std::move(engine)),
        format_(format),
        options_(options),
        input_(options.read_on_after_damage ? kLookBack : 0) {}

  size_t read(std::span<std::byte> out) override {
    if (failure_) std::rethrow_exception(failure_);
    size_t made = take_held(out);
    try {
      while (made == 0 && !out.empty() && phase_ != Phase::ended) made = step(out);
    } catch (const Error& error) {
      if (!options_.read_on_after_damage || !is_damage(error.kind()))
        failure_ = std::current_exception();
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    if (damaged_) fail_before(out.first(made));
    return made;
  }

  const std::string& path() const override { return source_->path(); }

 private:
  enum class Phase { member, damaged, after_member, padding, searching, ended };

  // Advances until there is output, more input is needed, or the phase changes.
  size_t step(std::span<std::byte> out) {
    // The engine may still hold output that did not fit: read more input only after returning that
    // output.
    const bool waits = starved_ || phase_ != Phase::member;
    if (input_.rest().empty() && !input_.ended() && waits) fill();
    switch (phase_) {
      case Phase::member:
        return inflate_some(out);
      case Phase::damaged:
        fail_damaged();
        break;
      case Phase::after_member:
        look_after_member();
        break;
      case Phase::padding:
        skip_padding();
        break;
      case Phase::searching:
        search();
        break;
      case Phase::ended:
        break;
    }
    return 0;
  }

  // An error of the source ends the stream, and takes the place of damage before it.
  void fill() {
    try {
      input_.fill(*source_);
    } catch (...) {
      damaged_.reset();
      phase_ = Phase::ended;
      throw;
    }
  }

  size_t inflate_some(std::span<std::byte> out) {
    const bool all_given = input_.rest().empty() && input_.ended();
    const InflateStep step = engine_->step(input_.rest(), out);
    input_.take(step.taken);
    member_.made += step.made;
    if (options_.read_on_after_damage) recent_.add(out.first(step.made));
    starved_ = step.made == 0;
    if (step.ended) {
      backtracking_.sound(member_);
      phase_ = Phase::after_member;
    } else if (step.damage && step.kind != ErrorKind::corrupted && !may_be_damage()) {
      fail(step.kind, input_.offset(), step.damage, {.from = input_.offset()});
    } else if (step.damage) {
      damage_ = step.damage;
      only_check_ = step.only_check;
      phase_ = Phase::damaged;
      if (step.made == 0) fail_damaged();
    } else if (step.made == 0 && all_given) {
      fail(ErrorKind::truncated, input_.offset(),
           std::string(to_string(format_)) + " stream ends before its trailer",
           {.from = member_.made > 0 ? input_.offset() - engine_->undecoded() : member_.begin,
            .spared = kTrailerSize});
    }
    return step.made;
  }

  // Whether a frame that requires an excessive window or a dictionary may just be damaged. The
  // header of the first frame is assumed to be correct.
  bool may_be_damage() const { return options_.read_on_after_damage && member_.begin > 0; }

  void begin_member(bool was_searched) {
    engine_->start_again();
    member_ = {.begin = input_.offset(), .was_searched = was_searched};
    starved_ = true;
    phase_ = Phase::member;
  }

  // Another member may follow, or zeros (padding to a tape block).
  void look_after_member() {
    if (input_.rest().empty()) {
      if (input_.ended()) phase_ = Phase::ended;
    } else if (input_.rest().front() == std::byte{0}) {
      phase_ = Phase::padding;
    } else if (starts_another(format_, input_.rest().front())) {
      begin_member(false);
    } else {
      fail_after_end();
    }
  }

  void skip_padding() {
    const auto rest = input_.rest();
    const auto other = std::ranges::find_if(rest, [](std::byte b) { return b != std::byte{0}; });
    input_.take(static_cast<size_t>(other - rest.begin()));
    if (other != rest.end()) {
      fail_after_end();
    } else if (input_.ended()) {
      phase_ = Phase::ended;
    }
  }

  // Searches for the next member after damage. (A zlib stream has none: it is read to its end.)
  void search() {
    input_.take(find_member(format_, input_.rest()));
    const size_t left = input_.rest().size();
    if (left < kStartSize && !input_.ended()) {
      fill();
    } else if (left < kMagicSize) {
      phase_ = Phase::ended;
    } else if (was_swallowed()) {
      input_.take(1);
    } else {
      begin_member(true);
    }
  }

  // Whether the bytes at this position were already returned as content. Searching the content is
  // slow, so it is done at most kMaxLooks times per damaged region; then every position counts as
  // swallowed.
  bool was_swallowed() {
    constexpr int kMaxLooks = 32;
    const auto rest = input_.rest();
    if (input_.offset() >= backtracking_.furthest()) return false;
    return ++looks_ > kMaxLooks || rest.size() < kStartSize ||
           recent_.holds(rest.first(kStartSize));
  }

  void fail_damaged() {
    const uint64_t offset = input_.offset() - engine_->unused();
    fail(
        ErrorKind::corrupted, offset,
        "damaged " + std::string(to_string(format_)) + " stream (" + damage_ + ")",
        {.from = input_.offset() - engine_->undecoded(), .spared = only_check_ ? kTrailerSize : 0});
  }

  void fail_after_end() {
    // A member may begin at this position, after zeros, so the search must not skip it.
    member_ = {.begin = input_.offset() - 1};
    fail(ErrorKind::corrupted, input_.offset(),
         "garbage after the end of the " + std::string(to_string(format_)) + " stream",
         {.from = input_.offset(), .spared = kTrailerSize});
  }

  // Where the bytes that can't be decompressed begin. So few as `spared` are no lost content.
  struct Loss {
    uint64_t from = 0;
    uint64_t spared = 0;
  };

  // Throws, or begins the search for the next member: read() throws when its result is known. A
  // chance match of the search changes nothing.
  void fail(ErrorKind kind, uint64_t offset, std::string reason, Loss loss) {
    Error::Parts parts = {.kind = kind,
                          .path = source_->path(),
                          .offset = offset,
                          .reason = std::move(reason),
                          .hint = hint_for(kind)};
    if (!options_.read_on_after_damage || !is_damage(kind)) throw Error(std::move(parts));
    const bool is_further = offset > backtracking_.furthest();
    input_.go_back_to(backtracking_.search_from(member_, offset));
    if (is_further) looks_ = 0;
    phase_ = Phase::searching;
    if (damaged_) return;
    damaged_ = std::move(parts);
    loss_ = loss;
  }

  // Throws damaged_. `content`, which comes after it, is for the next read().
  void fail_before(std::span<const std::byte> content) {
    held_.assign(content.begin(), content.end());
    const Error::Parts parts = *std::exchange(damaged_, std::nullopt);
    const uint64_t end = input_.offset() + input_.rest().size();
    const uint64_t next = content.empty() ? end : member_.begin;
    const uint64_t lost = next - std::min(next, loss_.from);
    throw LostContent(parts, lost <= loss_.spared ? 0 : lost,
                      content.empty() ? std::optional(end) : std::nullopt);
  }

  size_t take_held(std::span<std::byte> out) {
    const size_t count = std::min(out.size(), held_.size());
    std::copy_n(held_.begin(), count, out.begin());
    held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }

  static const char* hint_for(ErrorKind kind) {
    switch (kind) {
      case ErrorKind::truncated:
        return "the file is incomplete: fetch it again";
      case ErrorKind::limit_exceeded:
        return "compress it again, without --long or with a smaller value";
      case ErrorKind::unsupported:
        return "decompress it with the dictionary (zstd -d -D DICTIONARY), or compress it without";
      default:
        return kDamagedFileHint;
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<InflateEngine> engine_;
  const Compression format_;
  const InflateOptions options_;
  InflateInput input_;
  bool starved_ = true;  // the engine produced no output from its input
  Phase phase_ = Phase::member;
  InflatedMember member_;
  Backtracking backtracking_;
  RecentContent recent_;
  int looks_ = 0;
  std::optional<Error::Parts> damaged_;  // what read() throws before the next content
  Loss loss_;                            // of damaged_
  std::vector<std::byte> held_;          // content after what it has thrown
  const char* damage_ = nullptr;
  bool only_check_ = false;  // the damage is of no content
  std::exception_ptr failure_;
};

std::atomic<Decompressor> decompressor = nullptr;

// Reads a format that this library knows only by its first bytes.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> compressed,
                                         Compression format) {
  const Decompressor decompress = format == Compression::snappy ? nullptr : decompressor.load();
  if (decompress != nullptr) return decompress(std::move(compressed), format);
  const std::string name(to_string(format));
  throw Error({.kind = ErrorKind::unsupported,
               .path = compressed->path(),
               .reason = "compressed with " + name + ", which this program can't decompress",
               .hint = "decompress it first, for example with the program " + name});
}

}  // namespace

void set_decompressor(Decompressor function) { decompressor = function; }

std::unique_ptr<ByteSource> inflate_by(std::unique_ptr<InflateEngine> engine,
                                       std::unique_ptr<ByteSource> compressed, Compression format,
                                       const InflateOptions& options) {
  return std::make_unique<InflatingSource>(std::move(engine), std::move(compressed), format,
                                           options);
}

std::unique_ptr<ByteSource> inflate(std::unique_ptr<ByteSource> compressed, Compression format,
                                    const InflateOptions& options) {
  if (format == Compression::none) return compressed;
  if (format >= Compression::bzip2) return decompressed(std::move(compressed), format);
  auto engine = format == Compression::gzip   ? make_isal_inflate_engine()
                : format == Compression::zstd ? make_zstd_inflate_engine()
                                              : nullptr;
  if (!engine) engine = make_zlib_inflate_engine(format);
  return inflate_by(std::move(engine), std::move(compressed), format, options);
}

}  // namespace recordpipe
