#include "dataset/record/snappy_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxContent = size_t{64} << 10;  // of a chunk
constexpr size_t kCrcSize = 4;
constexpr size_t kHeaderSize = 4;                // type, and the size of the rest in three bytes
constexpr size_t kMaxStored = kCrcSize + 76490;  // snappy's bound for 64 KiB of content

enum ChunkType : uint8_t {
  kCompressed = 0x00,
  kUncompressed = 0x01,
  kFirstSkippable = 0x80,  // 0x80 to 0xfd
  kPadding = 0xfe,
  kStreamIdentifier = 0xff,
};

// Decompresses one block of the raw format (format_description.txt beside the framing's) into
// `out`, which has room for kMaxContent bytes. Returns the number of bytes, or nullopt for damage.
class BlockReader {
 public:
  BlockReader(std::span<const std::byte> in, std::span<std::byte> out) : in_(in), out_(out) {}

  std::optional<size_t> read() {
    const std::optional<uint32_t> size = varint();
    if (!size || *size > out_.size()) return std::nullopt;
    while (!in_.empty()) {
      const auto tag = std::to_integer<uint32_t>(in_.front());
      in_ = in_.subspan(1);
      if (!((tag & 3) == 0 ? literal(tag >> 2) : copy(tag))) return std::nullopt;
    }
    return made_ == *size ? std::optional<size_t>(made_) : std::nullopt;
  }

 private:
  std::optional<uint32_t> varint() {
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32 && !in_.empty(); shift += 7) {
      const auto byte = std::to_integer<uint32_t>(in_.front());
      in_ = in_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  // Takes a little-endian number of `size` bytes, at most 4.
  std::optional<uint32_t> number(size_t size) {
    if (in_.size() < size) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint32_t>(in_[i]) << 8 * i;
    in_ = in_.subspan(size);
    return value;
  }

  bool literal(uint32_t code) {
    uint64_t size = code;
    if (code >= 60) {
      const auto given = number(code - 59);
      if (!given) return false;
      size = *given;
    }
    ++size;
    if (size > in_.size() || size > out_.size() - made_) return false;
    std::memcpy(out_.data() + made_, in_.data(), size);
    in_ = in_.subspan(size);
    made_ += size;
    return true;
  }

  bool copy(uint32_t tag) {
    const uint32_t kind = tag & 3;
    const auto low = number(kind == 1 ? 1 : kind == 2 ? 2 : 4);
    if (!low) return false;
    const size_t size = kind == 1 ? 4 + (tag >> 2 & 7) : 1 + (tag >> 2);
    const size_t back = kind == 1 ? (tag >> 5) << 8 | *low : *low;
    if (back == 0 || back > made_ || size > out_.size() - made_) return false;
    // The source may overlap what is written.
    for (size_t i = 0; i < size; ++i, ++made_) out_[made_] = out_[made_ - back];
    return true;
  }

  std::span<const std::byte> in_;
  const std::span<std::byte> out_;
  size_t made_ = 0;
};

class SnappySource final : public ByteSource {
 public:
  explicit SnappySource(std::unique_ptr<ByteSource> compressed)
      : source_(std::move(compressed)), content_(kMaxContent) {}

  size_t read(std::span<std::byte> out) override {
    if (failure_) std::rethrow_exception(failure_);
    try {
      while (begin_ == end_ && read_chunk()) continue;
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    const size_t count = std::min(out.size(), end_ - begin_);
    if (count > 0) std::memcpy(out.data(), content_.data() + begin_, count);
    begin_ += count;
    return count;
  }

  const std::string& path() const override { return source_->path(); }

 private:
  // Returns false at the end.
  bool read_chunk() {
    std::byte header[kHeaderSize];
    const size_t got = read_fully(*source_, header);
    if (got == 0) return false;
    if (got < sizeof header) fail_truncated();
    const uint32_t word = load_little_endian<uint32_t>(header);
    const uint32_t size = word >> 8;
    switch (const auto type = static_cast<uint8_t>(word)) {
      case kCompressed:
      case kUncompressed:
        read_content(type, size);
        break;
      case kStreamIdentifier:
        if (size != 6) fail_corrupted();
        skip(size);
        break;
      default:
        if (type < kFirstSkippable) fail_reserved(type);
        skip(size);
        break;
    }
    offset_ += kHeaderSize + size;
    return true;
  }

  void read_content(uint8_t type, uint32_t size) {
    if (size < kCrcSize || size > kMaxStored) fail_corrupted();
    stored_.resize(size);
    if (read_fully(*source_, stored_) < size) fail_truncated();
    const auto data = std::span<const std::byte>(stored_).subspan(kCrcSize);
    std::optional<size_t> made;
    if (type == kCompressed) {
      made = BlockReader(data, content_).read();
    } else if (data.size() <= content_.size()) {
      std::ranges::copy(data, content_.begin());
      made = data.size();
    }
    if (!made) fail_corrupted();
    const auto content = std::span<const std::byte>(content_).first(*made);
    if (load_little_endian<uint32_t>(stored_.data()) != mask_crc(crc32c(content))) fail_corrupted();
    begin_ = 0;
    end_ = *made;
  }

  void skip(uint32_t size) {
    stored_.resize(kMaxContent);
    for (uint32_t left = size; left > 0;) {
      const size_t wanted = std::min<size_t>(left, stored_.size());
      if (read_fully(*source_, std::span(stored_).first(wanted)) < wanted) fail_truncated();
      left -= static_cast<uint32_t>(wanted);
    }
  }

  [[noreturn]] void fail(ErrorKind kind, std::string reason, std::string hint) const {
    throw Error({.kind = kind,
                 .path = source_->path(),
                 .offset = offset_,
                 .reason = std::move(reason),
                 .hint = std::move(hint)});
  }
  [[noreturn]] void fail_truncated() const {
    fail(ErrorKind::truncated, "snappy stream ends inside a chunk",
         "the file is incomplete: fetch it again");
  }
  [[noreturn]] void fail_corrupted() const {
    fail(ErrorKind::corrupted, "damaged snappy stream (a chunk)", kDamagedFileHint);
  }
  [[noreturn]] void fail_reserved(uint8_t type) const {
    fail(ErrorKind::unsupported, "a snappy chunk of the unknown type " + std::to_string(type),
         kDamagedFileHint);
  }

  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> stored_;   // a chunk
  std::vector<std::byte> content_;  // of a chunk: [begin_, end_) was not returned yet
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;  // of the current chunk
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<ByteSource> read_snappy(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<SnappySource>(std::move(compressed));
}

}  // namespace recordpipe
