#include "dataset/record/stream_compression.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataset/record/record_format.h"
#include "dataset/record/record_reader.h"

namespace recordpipe {
namespace {

using Head = std::array<std::byte, kRecordHeaderSize>;

// Gives back the bytes that were read to look at them, then the rest.
class RewoundSource final : public ByteSource {
 public:
  RewoundSource(const Head& head, size_t size, std::unique_ptr<ByteSource> rest)
      : head_(head), size_(size), rest_(std::move(rest)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = std::min(out.size(), size_ - used_);
    std::copy_n(head_.begin() + used_, count, out.begin());
    used_ += count;
    return count == out.size() ? count : count + rest_->read(out.subspan(count));
  }

  const std::string& path() const override { return rest_->path(); }

 private:
  Head head_;
  size_t size_;
  size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

Compression detect_record_compression(std::span<const std::byte> head) {
  const bool is_record =
      head.size() >= kRecordHeaderSize && decode_record_header(head.first<kRecordHeaderSize>());
  return is_record ? Compression::none : sniff_compression(head);
}

DetectedSource detect_source(std::unique_ptr<ByteSource> raw, std::optional<Compression> wanted) {
  if (!wanted) {
    Head head{};
    const size_t size = raw->read(head);
    wanted = detect_record_compression(std::span(head).first(size));
    raw = std::make_unique<RewoundSource>(head, size, std::move(raw));
  }
  if (*wanted == Compression::none) return {std::move(raw), *wanted};
  return {inflate(std::move(raw), *wanted), *wanted};
}

Compression detect_compression(FileSystem& file_system, const std::string& path) {
  Head head{};
  const size_t size = file_system.open_source(path)->read(head);
  return detect_record_compression(std::span(head).first(size));
}

}  // namespace recordpipe
