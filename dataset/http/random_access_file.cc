#include "dataset/http/random_access_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dataset/http/headers.h"
#include "dataset/http/range.h"
#include "dataset/http/status.h"

namespace recordpipe {

// Fills `out` with the bytes from `first` on, by one or more requests.
class HttpRandomAccessFile::Request {
 public:
  // `total`: the size of the file; empty if it is not known yet.
  Request(const HttpRandomAccessFile& file, uint64_t first, std::span<std::byte> out,
          std::optional<uint64_t> total)
      : file_(file),
        first_(first),
        out_(out),
        total_(total),
        validator_(file.validator_),
        retry_(file.options_.retry, file.options_.http.stop, file.options_.notice) {}

  void run() {
    while (filled_ < out_.size()) {
      try {
        fetch();
      } catch (const TransientError& error) {
        retry_.wait_after(error);
      }
    }
  }

  // Properties of the file from the responses.
  uint64_t total() const { return total_.value_or(0); }
  std::string validator() const { return validator_; }
  size_t filled() const { return filled_; }

 private:
  void fetch() {
    const uint64_t begin = first_ + filled_;
    last_ = first_ + out_.size() - 1;
    std::vector<std::string> headers{
        "Accept-Encoding: identity",
        "Range: bytes=" + std::to_string(begin) + "-" + std::to_string(last_)};
    if (!validator_.empty()) headers.push_back("If-Range: " + validator_);
    const size_t before = filled_;
    file_.client_.get(
        file_.url_, headers,
        {.on_response = [&](const HttpResponse& response) { return take(response, begin); },
         .on_body = [&](std::span<const std::byte> bytes) { take(bytes); },
         .on_tick = [] {}});
    if (filled_ < out_.size() && filled_ == before) {
      throw TransientError({.kind = ErrorKind::network,
                            .path = file_.url_.shown(),
                            .reason = "the server sent no bytes of the range it announced"});
    }
  }

  bool take(const HttpResponse& response, uint64_t begin) {
    retry_.answered();
    switch (response.status) {
      case 206:
        break;
      case 416: {
        const auto range = parse_content_range(response.content_range);
        if (total_ || !range || range->total != 0) throw file_changed(file_.url_);
        return nothing_there();
      }
      case 200:
        refuse_whole_file(response);
        return nothing_there();
      default:
        refuse_status(response);
    }
    if (is_html_type(response.content_type)) refuse_web_page(file_.url_);
    const auto part = matching_part(response, begin, total_, validator_);
    if (!part || part->last > last_) {
      if (total_) throw file_changed(file_.url_);
      throw Error({.kind = ErrorKind::network,
                   .path = file_.url_.shown(),
                   .reason = "the server sent another range than requested",
                   .hint = "download the file, then read it"});
    }
    if (!total_) {
      total_ = part->total;
      validator_ = validator_of(response.etag, response.last_modified, response.date);
      out_ = out_.first(std::min<uint64_t>(out_.size(), part->total - first_));
    }
    return true;
  }

  // The file is empty.
  bool nothing_there() {
    total_ = 0;
    out_ = {};
    return false;
  }

  // 200 in place of a part. Throws, except when an empty file is opened.
  void refuse_whole_file(const HttpResponse& response) const {
    if (!total_ && response.content_length == 0) return;
    if (is_html_type(response.content_type)) refuse_web_page(file_.url_);
    const std::string validator =
        validator_of(response.etag, response.last_modified, response.date);
    if (total_ && validator != validator_) throw file_changed(file_.url_);
    throw Error({.kind = ErrorKind::unsupported,
                 .path = file_.url_.shown(),
                 .reason = "the server does not support range requests: it answered 200",
                 .hint = "download the file, then read it"});
  }

  void take(std::span<const std::byte> bytes) {
    if (bytes.size() > out_.size() - filled_) {
      throw Error({.kind = ErrorKind::network,
                   .path = file_.url_.shown(),
                   .offset = first_ + out_.size(),
                   .reason = "the server sent more than it announced"});
    }
    std::ranges::copy(bytes, out_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += bytes.size();
  }

  const HttpRandomAccessFile& file_;
  const uint64_t first_;
  std::span<std::byte> out_;
  std::optional<uint64_t> total_;
  std::string validator_;
  HttpRetry retry_;
  uint64_t last_ = 0;
  size_t filled_ = 0;
};

HttpRandomAccessFile::HttpRandomAccessFile(const std::string& url, const HttpReadOptions& options)
    : url_(url),
      options_(options),
      client_(options.http),
      window_(std::max<size_t>(options.smallest_window, 1)),
      window_size_(window_.size()) {
  Request request(*this, 0, window_, std::nullopt);
  request.run();
  size_ = request.total();
  validator_ = request.validator();
  window_.resize(request.filled());
}

size_t HttpRandomAccessFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
  const std::lock_guard lock(mutex_);
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = offset + done;
    if (at < window_begin_ || at - window_begin_ >= window_.size()) {
      if (out.size() - done >= window_size_) {
        fetch(at, out.subspan(done));
        break;
      }
      move_window(at);
    }
    const size_t begin = at - window_begin_;
    const size_t count = std::min(out.size() - done, window_.size() - begin);
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(begin), count,
                out.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  }
  return out.size();
}

void HttpRandomAccessFile::fetch(uint64_t first, std::span<std::byte> out) const {
  Request(*this, first, out, size_).run();
}

void HttpRandomAccessFile::move_window(uint64_t offset) const {
  const uint64_t end = window_begin_ + window_.size();
  const bool near = offset >= window_begin_ && offset - end <= window_size_;
  window_size_ =
      near ? std::min(2 * window_size_, options_.largest_window) : options_.smallest_window;
  // If the request fails, the window is empty.
  window_.resize(std::min<uint64_t>(window_size_, size_ - offset));
  window_begin_ = offset;
  try {
    fetch(offset, window_);
  } catch (...) {
    window_.clear();
    throw;
  }
}

}  // namespace recordpipe
