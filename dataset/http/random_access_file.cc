#include "dataset/http/random_access_file.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "dataset/http/headers.h"
#include "dataset/http/range.h"
#include "dataset/http/status.h"

namespace recordpipe {

// Fills `out` with the bytes from `first` on, with one or more requests.
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

  // The results of run().
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
    file_.clients_->get(
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

  // Handles 200, that is, the whole file in place of a part. Throws, except when an empty file is
  // opened.
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

HttpRandomAccessFile::HttpRandomAccessFile(const std::string& url, const HttpReadOptions& options,
                                           std::shared_ptr<HttpClientPool> clients)
    : url_(url),
      options_(options),
      clients_(std::move(clients)),
      window_(std::max<size_t>(options.smallest_window, 1)),
      window_size_(window_.size()) {
  Request request(*this, 0, window_, std::nullopt);
  request.run();
  size_ = request.total();
  validator_ = request.validator();
  window_.resize(request.filled());
}

std::span<const std::byte> HttpRandomAccessFile::read(uint64_t offset, size_t size,
                                                      std::span<std::byte> scratch) const {
  if (offset >= size_) return {};
  const auto out = scratch.first(std::min<uint64_t>(size, size_ - offset));
  std::unique_lock lock(mutex_);
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = offset + done;
    if (!in_window(at, 1)) {
      if (out.size() - done >= window_size_) {
        lock.unlock();
        fetch(at, out.subspan(done));
        break;
      }
      const bool is_requested = std::ranges::any_of(
          requested_, [&](const auto& window) { return at >= window.first && at < window.second; });
      if (is_requested) {
        arrived_.wait(lock);
        continue;
      }
      move_window(at, lock);
    }
    const size_t begin = at - window_begin_;
    const size_t count = std::min(out.size() - done, window_.size() - begin);
    std::ranges::copy(std::span(window_).subspan(begin, count),
                      out.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  }
  return out;
}

void HttpRandomAccessFile::read_many(std::span<ReadRequest> requests) const {
  std::vector<ReadRequest*> left;
  for (ReadRequest& request : requests) {
    const uint64_t there = size_ - std::min(request.offset, size_);
    const auto out = request.scratch.first(std::min<uint64_t>(request.size, there));
    request.data = out;
    if (!out.empty()) left.push_back(&request);
  }
  std::ranges::sort(left, {}, &ReadRequest::offset);
  for (size_t begin = 0; begin < left.size();) {
    const uint64_t first = left[begin]->offset;
    uint64_t end = first;
    size_t next = begin;
    for (; next < left.size(); ++next) {
      const uint64_t offset = left[next]->offset;
      const uint64_t longer = std::max(end, offset + left[next]->data.size());
      const bool near = offset <= end || offset - end <= options_.smallest_window;
      if (next > begin && (!near || longer - first > options_.largest_window)) break;
      end = longer;
    }
    read_group(std::span(left).subspan(begin, next - begin), end);
    begin = next;
  }
}

// Performs all reads of `group`, which is sorted by offset and ends at `end`, as one.
void HttpRandomAccessFile::read_group(std::span<ReadRequest* const> group, uint64_t end) const {
  const uint64_t first = group.front()->offset;
  const auto out_of = [](const ReadRequest& request) {
    return request.scratch.first(request.data.size());
  };
  const auto copy_from = [&](std::span<const std::byte> bytes) {
    for (const ReadRequest* request : group) {
      std::ranges::copy(bytes.subspan(request->offset - first, request->data.size()),
                        out_of(*request).begin());
    }
  };
  {
    const std::lock_guard lock(mutex_);
    if (in_window(first, end - first)) {
      return copy_from(std::span(window_).subspan(first - window_begin_));
    }
  }
  if (group.size() == 1) return fetch(first, out_of(*group.front()));
  std::vector<std::byte> fetched(end - first);
  fetch(first, fetched);
  copy_from(fetched);
}

std::string HttpRandomAccessFile::identity() const {
  return std::to_string(size_) + " " + validator_;
}

bool HttpRandomAccessFile::in_window(uint64_t offset, size_t size) const {
  return offset >= window_begin_ && offset - window_begin_ < window_.size() &&
         size <= window_.size() - (offset - window_begin_);
}

void HttpRandomAccessFile::fetch(uint64_t first, std::span<std::byte> out) const {
  Request(*this, first, out, size_).run();
}

// No request of the parent arrives here.
void HttpRandomAccessFile::after_fork() {
  internal::renew_without_destruction(arrived_);
  internal::renew_without_destruction(requested_);
  if (!internal::renew(mutex_)) internal::renew_without_destruction(window_);
}

void HttpRandomAccessFile::move_window(uint64_t offset, std::unique_lock<std::mutex>& lock) const {
  const uint64_t end = window_begin_ + window_.size();
  const bool near = offset >= window_begin_ && offset - end <= window_size_;
  const size_t size =
      near ? std::min(2 * window_size_, options_.largest_window) : options_.smallest_window;
  std::vector<std::byte> window(std::min<uint64_t>(size, size_ - offset));
  const std::pair requested(offset, offset + window.size());
  requested_.push_back(requested);
  lock.unlock();
  std::exception_ptr error;
  try {
    fetch(offset, window);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  std::erase(requested_, requested);
  arrived_.notify_all();
  if (error) std::rethrow_exception(error);
  window_ = std::move(window);
  window_begin_ = offset;
  window_size_ = size;
}

}  // namespace recordpipe
