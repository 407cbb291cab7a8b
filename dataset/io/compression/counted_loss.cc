#include "dataset/io/compression/counted_loss.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/io/compression/lost_content.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

class CountedSource final : public ByteSource {
 public:
  explicit CountedSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = source_->read(out);
    size_ += count;
    return count;
  }
  const std::string& path() const override { return source_->path(); }
  uint64_t size() const { return size_; }  // of the bytes that were read

 private:
  const std::unique_ptr<ByteSource> source_;
  uint64_t size_ = 0;
};

class ContentWithLoss final : public ByteSource {
 public:
  ContentWithLoss(std::unique_ptr<ByteSource> compressed, const MakeContent& decompress) {
    auto counted = std::make_unique<CountedSource>(std::move(compressed));
    compressed_ = counted.get();
    content_ = decompress(std::move(counted));
  }

  size_t read(std::span<std::byte> out) override {
    try {
      return content_->read(out);
    } catch (const Error& error) {
      if (!is_damage(error.kind())) throw;
      std::vector<std::byte> rest(size_t{256} << 10);
      while (compressed_->read(rest) > 0) continue;
      const uint64_t size = compressed_->size();
      throw LostContent(error.parts(), size - std::min(size, error.offset().value_or(0)), size);
    }
  }
  const std::string& path() const override { return content_->path(); }

 private:
  CountedSource* compressed_ = nullptr;  // of content_
  std::unique_ptr<ByteSource> content_;
};

}  // namespace

std::unique_ptr<ByteSource> with_counted_loss(std::unique_ptr<ByteSource> compressed,
                                              const MakeContent& decompress) {
  return std::make_unique<ContentWithLoss>(std::move(compressed), decompress);
}

}  // namespace recordpipe
