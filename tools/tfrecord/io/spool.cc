#include "tools/tfrecord/io/spool.h"

#include <algorithm>
#include <span>
#include <utility>

namespace recordpipe {

class Spool::Keeping final : public ByteSource {
 public:
  Keeping(std::unique_ptr<ByteSource> source, Spool& spool)
      : source_(std::move(source)), spool_(spool) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = source_->read(out);
    if (spool_.keeps_) spool_.file_.append(out.first(count));
    return count;
  }
  const std::string& path() const override { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  Spool& spool_;
};

class Spool::Kept final : public ByteSource {
 public:
  explicit Kept(const Spool& spool) : file_(spool.file_), path_(spool.path_) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = std::min<uint64_t>(out.size(), file_.size() - place_);
    file_.read_at(place_, out.first(count));
    place_ += count;
    return count;
  }
  const std::string& path() const override { return path_; }

 private:
  const TemporaryFile& file_;
  const std::string& path_;
  uint64_t place_ = 0;
};

std::unique_ptr<ByteSource> Spool::keep(std::unique_ptr<ByteSource> source) {
  path_ = source->path();
  return std::make_unique<Keeping>(std::move(source), *this);
}

std::unique_ptr<ByteSource> Spool::open() const { return std::make_unique<Kept>(*this); }

}  // namespace recordpipe
