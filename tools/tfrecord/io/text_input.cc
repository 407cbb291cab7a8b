#include "tools/tfrecord/io/text_input.h"

#include <algorithm>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/io/compression.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/text_encoding.h"

namespace recordpipe {
namespace {

constexpr size_t kReadSize = size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::unique_ptr<ByteSource> open_text(const CommandContext& context, const std::string& path,
                                      InputProgress& progress, const std::string& encoding) {
  PeekedSource peeked = peek(progress.counted(open_input(context, path)), 10);
  const Compression compression = sniff_compression(peeked.head);
  // zlib is not detected: its two header bytes may be text, for example "x^".
  if (compression != Compression::zlib) {
    peeked.source = inflate(std::move(peeked.source), compression);
  }
  return as_utf8(std::move(peeked.source), encoding);
}

std::vector<std::string> lines_of_file(FileSystem& files, const std::string& path) {
  constexpr size_t kLargestFile = size_t{64} << 20;
  const std::vector<std::byte> bytes = read_all(*files.open_source(path), kLargestFile);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string_view> LineReader::next() {
  size_t searched = begin_;
  while (true) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos || (ended_ && begin_ < buffer_.size())) {
      std::string_view line(buffer_);
      line = line.substr(begin_, std::min(end, buffer_.size()) - begin_);
      begin_ = end == std::string::npos ? buffer_.size() : end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (++number_ == 1 && line.starts_with(kByteOrderMark)) {
        line.remove_prefix(kByteOrderMark.size());
      }
      return line;
    }
    if (ended_) return std::nullopt;
    buffer_.erase(0, std::exchange(begin_, 0));
    searched = buffer_.size();
    if (searched > kLongestLine) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .path = path(),
                   .reason = "line " + std::to_string(number_ + 1) + " is longer than 1 GiB"});
    }
    buffer_.resize(searched + kReadSize);
    const size_t count =
        source_->read(std::as_writable_bytes(std::span(buffer_).subspan(searched)));
    buffer_.resize(searched + count);
    ended_ = count == 0;
  }
}

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
  return tapped(std::move(source), [this](std::span<const std::byte> bytes) {
    if (keeps_) file_.append(bytes);
  });
}

std::unique_ptr<ByteSource> Spool::open() const { return std::make_unique<Kept>(*this); }

}  // namespace recordpipe
