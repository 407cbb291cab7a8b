#include "dataset/http/files/random_access_file.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace recordpipe {
namespace {

constexpr size_t kGroupsAtOnce = 16;

}  // namespace

HttpRandomAccessFile::HttpRandomAccessFile(HttpTarget target, const HttpReadOptions& options,
                                           std::shared_ptr<HttpClient> client)
    : target_(std::move(target)),
      options_(options),
      client_(std::move(client)),
      window_(std::max<size_t>(options.smallest_window, 1)),
      window_size_(window_.size()) {
  RangeRequest request(target_, options_, *client_, 0, window_);
  request.run();
  size_ = request.version().total;
  validator_ = request.version().validator;
  window_.resize(request.filled());
}

HttpRandomAccessFile::HttpRandomAccessFile(HttpTarget target, const HttpReadOptions& options,
                                           std::shared_ptr<HttpClient> client,
                                           const RangeVersion& version,
                                           std::span<const std::byte> first)
    : target_(std::move(target)),
      options_(options),
      client_(std::move(client)),
      size_(version.total),
      validator_(version.validator),
      window_(first.begin(), first.end()),
      window_size_(std::max<size_t>(options.smallest_window, 1)) {}

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
        request(at, out.subspan(done))->run();
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
  struct Group {
    std::span<ReadRequest* const> reads;
    uint64_t end;
  };
  std::vector<Group> groups;
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
    groups.push_back({std::span(left).subspan(begin, next - begin), end});
    begin = next;
  }
  std::vector<SentGroup> sent(groups.size());
  size_t next = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (; next < groups.size() && next < i + kGroupsAtOnce; ++next) {
      sent[next] = start_group(groups[next].reads, groups[next].end);
    }
    finish_group(groups[i].reads, std::exchange(sent[i], {}));
  }
}

namespace {

std::span<std::byte> out_of(const ReadRequest& request) {
  return request.scratch.first(request.data.size());
}

// Performs reads of bytes that begin at `first`.
void copy_all(std::span<ReadRequest* const> group, std::span<const std::byte> bytes,
              uint64_t first) {
  for (const ReadRequest* request : group) {
    std::ranges::copy(bytes.subspan(request->offset - first, request->data.size()),
                      out_of(*request).begin());
  }
}

}  // namespace

// Requests the bytes of all reads of `group`, which is sorted by offset and ends at `end`; if the
// window has them, nothing.
HttpRandomAccessFile::SentGroup HttpRandomAccessFile::start_group(
    std::span<ReadRequest* const> group, uint64_t end) const {
  const uint64_t first = group.front()->offset;
  {
    const std::lock_guard lock(mutex_);
    if (in_window(first, end - first)) {
      copy_all(group, std::span(window_).subspan(first - window_begin_), first);
      return {};
    }
  }
  SentGroup sent;
  if (group.size() > 1) sent.bytes.resize(end - first);
  sent.request = request(first, group.size() > 1 ? sent.bytes : out_of(*group.front()));
  sent.request->start();
  return sent;
}

void HttpRandomAccessFile::finish_group(std::span<ReadRequest* const> group, SentGroup sent) {
  if (!sent.request) return;
  sent.request->run();
  if (group.size() > 1) copy_all(group, sent.bytes, group.front()->offset);
}

std::string HttpRandomAccessFile::identity() const {
  // All empty files are the same, and have no validator.
  if (validator_.empty() && size_ > 0) return {};
  return std::to_string(size_) + " " + validator_;
}

bool HttpRandomAccessFile::in_window(uint64_t offset, size_t size) const {
  return offset >= window_begin_ && offset - window_begin_ < window_.size() &&
         size <= window_.size() - (offset - window_begin_);
}

std::unique_ptr<RangeRequest> HttpRandomAccessFile::request(uint64_t first,
                                                            std::span<std::byte> out) const {
  return std::make_unique<RangeRequest>(target_, options_, *client_, first, out,
                                        RangeVersion{size_, validator_});
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
    request(offset, window)->run();
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
