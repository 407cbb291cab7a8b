#include "dataset/io/windowed_file.h"

#include <algorithm>
#include <exception>

namespace recordpipe {
namespace {

constexpr size_t kGroupsAtOnce = 24;  // a fingerprint of a file reads 18 blocks
constexpr size_t kMaxSent = 64;
constexpr uint64_t kMaxSentBytes = uint64_t{32} << 20;
constexpr uint64_t kHintsToExpire = 1024;

}  // namespace

WindowedFile::WindowedFile(std::shared_ptr<const RangedFile> file, const RangeOptions& options,
                           std::vector<std::byte> first)
    : file_(std::move(file)),
      options_(options),
      window_(std::move(first)),
      window_size_(std::max<size_t>(options.smallest_window, 1)) {}

std::span<const std::byte> WindowedFile::read(uint64_t offset, size_t size,
                                              std::span<std::byte> scratch) const {
  if (offset >= file_->size()) return {};
  const auto out = scratch.first(std::min<uint64_t>(size, file_->size() - offset));
  std::unique_lock lock(mutex_);
  if (SentRange sent = take_sent(offset, out.size()); sent.range) {
    lock.unlock();
    sent.range->receive();
    auto& bytes = sent.range->bytes;
    std::ranges::copy(std::span(bytes).subspan(offset - sent.begin, out.size()), out.begin());
    if (bytes.size() == out.size()) return out;
    lock.lock();
    window_ = std::move(bytes);
    window_begin_ = sent.begin;
    return out;
  }
  size_t done = 0;
  while (done < out.size()) {
    const uint64_t at = offset + done;
    if (!in_window(at, 1)) {
      if (out.size() - done >= window_size_ && !is_small()) {
        lock.unlock();
        const auto range = file_->request(at, out.size() - done);
        range->receive();
        std::ranges::copy(range->bytes, out.subspan(done).begin());
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

void WindowedFile::read_many(std::span<ReadRequest> requests) const {
  if (is_small()) return RandomAccessFile::read_many(requests);
  std::vector<ReadRequest*> left;
  for (ReadRequest& request : requests) {
    const uint64_t there = file_->size() - std::min(request.offset, file_->size());
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
  std::deque<SentRange> sent;  // of the groups from the next one on
  size_t begun = 0;
  uint64_t bytes = 0;  // of `sent`
  for (const Group& group : groups) {
    for (; begun < groups.size() && sent.size() < kGroupsAtOnce; ++begun) {
      if (!sent.empty() && bytes > kMaxSentBytes) break;
      sent.push_back(start_group(groups[begun].reads, groups[begun].end));
      bytes += sent.back().size;
    }
    bytes -= sent.front().size;
    finish_group(group.reads, std::move(sent.front()));
    sent.pop_front();
  }
}

namespace {

// Performs reads of bytes that begin at `first`.
void copy_all(std::span<ReadRequest* const> group, std::span<const std::byte> bytes,
              uint64_t first) {
  for (const ReadRequest* request : group) {
    std::ranges::copy(bytes.subspan(request->offset - first, request->data.size()),
                      request->scratch.begin());
  }
}

}  // namespace

// Requests the bytes of all reads of `group`, which is sorted by offset and ends at `end`; if the
// window has them, or if they were requested, nothing.
WindowedFile::SentRange WindowedFile::start_group(std::span<ReadRequest* const> group,
                                                  uint64_t end) const {
  const uint64_t first = group.front()->offset;
  {
    const std::lock_guard lock(mutex_);
    if (in_window(first, end - first)) {
      copy_all(group, std::span(window_).subspan(first - window_begin_), first);
      return {};
    }
    if (SentRange sent = take_sent(first, end - first); sent.range) return sent;
  }
  return {.range = file_->request(first, end - first), .begin = first, .size = end - first};
}

void WindowedFile::finish_group(std::span<ReadRequest* const> group, SentRange sent) {
  if (!sent.range) return;
  sent.range->receive();
  copy_all(group, sent.range->bytes, sent.begin);
}

void WindowedFile::hint(uint64_t offset, uint64_t size, ReadHint hint) const {
  if (offset >= file_->size()) return;
  size = std::min(size, file_->size() - offset);
  SentRange expired;  // ends without the lock
  const std::lock_guard lock(mutex_);
  if (hint == ReadHint::done) {
    const bool has_window =
        offset <= window_begin_ && window_begin_ + window_.size() <= offset + size;
    const bool is_large = !is_small() && window_.size() > options_.smallest_window;
    if (has_window && is_large) std::vector<std::byte>().swap(window_);
    return;
  }
  ++hints_;
  if (!sent_.empty() && hints_ - sent_.front().hint > kHintsToExpire) {
    expired = std::move(sent_.front());
    sent_.pop_front();
  }
  uint64_t bytes = size;
  for (const SentRange& sent : sent_) {
    if (sent.begin == offset) return;
    bytes += sent.size;
  }
  const bool has_room = sent_.size() < kMaxSent && bytes <= kMaxSentBytes;
  if (!has_room || size == 0 || in_window(offset, size)) return;
  sent_.push_back({file_->request(offset, size), offset, size, hints_});
}

WindowedFile::SentRange WindowedFile::take_sent(uint64_t offset, size_t size) const {
  const auto found = std::ranges::find_if(sent_, [&](const SentRange& sent) {
    return sent.begin <= offset && offset + size <= sent.begin + sent.size;
  });
  if (found == sent_.end()) return {};
  SentRange sent = std::move(*found);
  sent_.erase(found);
  return sent;
}

std::string WindowedFile::identity() const {
  // All empty files are the same, and have no version.
  if (file_->version().empty() && size() > 0) return {};
  return std::to_string(size()) + " " + file_->version();
}

bool WindowedFile::in_window(uint64_t offset, size_t size) const {
  return offset >= window_begin_ && offset - window_begin_ < window_.size() &&
         size <= window_.size() - (offset - window_begin_);
}

// No request of the parent arrives here.
void WindowedFile::after_fork() {
  internal::renew_without_destruction(arrived_);
  internal::renew_without_destruction(requested_);
  internal::renew_without_destruction(sent_);
  if (!internal::renew(mutex_)) internal::renew_without_destruction(window_);
}

void WindowedFile::move_window(uint64_t offset, std::unique_lock<std::mutex>& lock) const {
  const uint64_t end = window_begin_ + window_.size();
  const bool near = offset >= window_begin_ && offset - end <= window_size_;
  size_t size =
      near ? std::min(2 * window_size_, options_.largest_window) : options_.smallest_window;
  if (is_small()) {
    offset = 0;
    size = file_->size();
  }
  const std::pair requested(offset, std::min(offset + size, file_->size()));
  requested_.push_back(requested);
  lock.unlock();
  std::unique_ptr<RequestedRange> range;
  std::exception_ptr error;
  try {
    range = file_->request(offset, requested.second - offset);
    range->receive();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  std::erase(requested_, requested);
  arrived_.notify_all();
  if (error) std::rethrow_exception(error);
  window_ = std::move(range->bytes);
  window_begin_ = offset;
  window_size_ = size;
}

}  // namespace recordpipe
