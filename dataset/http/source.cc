#include "dataset/http/source.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "dataset/http/headers.h"
#include "dataset/http/range.h"
#include "dataset/http/status.h"
#include "dataset/http/stop_relay.h"
#include "dataset/parallel/service_thread.h"
#include "recordpipe/http/url.h"
#include "recordpipe/stop.h"

namespace recordpipe {
namespace {

// Sends the requests for one stream.
class ResumedGet {
 public:
  // Calls `begun` when the first response with the file begins, and `deliver` with the file's bytes
  // in order.
  ResumedGet(const HttpTarget& target, const HttpReadOptions& options, std::function<void()> begun,
             std::function<void(std::span<const std::byte>)> deliver)
      : target_(target),
        url_(target.url),
        begun_(std::move(begun)),
        deliver_(std::move(deliver)),
        client_(options.http),
        retry_(options.retry, options.http.stop, options.notice) {}

  void run() {
    while (!whole_) {
      try {
        fetch();
      } catch (const TransientError& error) {
        if (position_ > 0 && validator_.empty()) throw cannot_go_on(error);
        if (position_ - failed_at_ >= kSuccessfulTransfer) retry_.succeeded();
        failed_at_ = position_;
        retry_.wait_after(error);
      }
    }
  }

 private:
  void fetch() {
    std::vector<std::string> headers{"Accept-Encoding: identity"};
    if (position_ > 0) {
      headers.push_back("Range: bytes=" + std::to_string(position_) + "-");
      headers.push_back(target_.condition_header(validator_));
    }
    passed_over_ = 0;
    target_.get(client_, std::move(headers),
                {.on_response = [this](const HttpResponse& response) { return take(response); },
                 .on_body = [this](std::span<const std::byte> bytes) { take(bytes); },
                 .on_tick = [] {}});
    if (total_ && position_ < *total_) {
      throw TransientError({.kind = ErrorKind::network,
                            .path = url_.shown(),
                            .reason = "the server sent fewer bytes than the file has"});
    }
    whole_ = true;
  }

  // Handles the head of a response. Returns false to skip the body.
  bool take(const HttpResponse& response) {
    retry_.answered();
    if (position_ > 0 && response.status == 206) {
      const auto part = matching_part(response, position_, total_, validator_);
      if (!part) throw file_changed(url_);
      total_ = part->total;
      return true;
    }
    if (position_ > 0 && response.status == 416) {
      const auto range = parse_content_range(response.content_range);
      if (!range || range->total != position_ || (total_ && total_ != position_)) {
        throw file_changed(url_);
      }
      return false;
    }
    if (position_ > 0 && response.status == 412) throw file_changed(url_);
    if (response.status != 200) refuse_status(response);
    if (is_html_type(response.content_type)) refuse_web_page(url_);
    const std::string validator =
        validator_of(response.etag, response.last_modified, response.date);
    if (position_ == 0) {
      validator_ = validator;
      total_ = response.content_length;
      begun_();
      return true;
    }
    // The server sent the whole file in place of a part: the bytes before position_ are skipped.
    if (validator != validator_) throw file_changed(url_);
    passed_over_ = position_;
    return true;
  }

  void take(std::span<const std::byte> bytes) {
    const uint64_t old = std::min<uint64_t>(passed_over_, bytes.size());
    passed_over_ -= old;
    bytes = bytes.subspan(old);
    if (total_ && bytes.size() > *total_ - position_) {
      throw Error({.kind = ErrorKind::network,
                   .path = url_.shown(),
                   .offset = *total_,
                   .reason = "the server sent more than it announced"});
    }
    deliver_(bytes);
    position_ += bytes.size();
  }

  Error cannot_go_on(const TransientError& error) const {
    return Error({.kind = error.kind(),
                  .path = error.path(),
                  .offset = position_,
                  .reason = error.reason() +
                            ", and without an ETag or Last-Modified from the server the transfer "
                            "can't be resumed",
                  .hint = "download the file, then read it"});
  }

  const HttpTarget& target_;
  const HttpUrl& url_;
  const std::function<void()> begun_;
  const std::function<void(std::span<const std::byte>)> deliver_;
  HttpClient client_;
  HttpRetry retry_;
  std::string validator_;          // of the file; "" for none
  std::optional<uint64_t> total_;  // size of the file
  uint64_t position_ = 0;          // bytes delivered
  uint64_t failed_at_ = 0;         // position_ at the last failure
  uint64_t passed_over_ = 0;       // bytes of the current response still to be skipped
  bool whole_ = false;
};

}  // namespace

// Double buffering: the thread fills one buffer while the reader empties the other.
struct HttpSource::State {
  State(HttpTarget given_target, const HttpReadOptions& given)
      : target(std::move(given_target)),
        url(target.url),
        capacity(std::max<size_t>(given.read_ahead, 1)),
        options(given) {
    outer_stop.emplace(given.http.stop, StopRelay{stop});
    options.http.stop = stop.get_token();
    thread = parallel::ServiceThread("rp-http", [this](const std::stop_token&) { fetch(); });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun || ended; });
    if (failure && arrived.empty()) std::rethrow_exception(failure);
  }
  ~State() { stop.request_stop(); }

  void fetch() {
    std::exception_ptr thrown;
    try {
      const auto begin = [this] {
        const std::lock_guard lock(mutex);
        begun = true;
        changed.notify_all();
      };
      ResumedGet(target, options, begin, [this](std::span<const std::byte> bytes) {
        deliver(bytes);
      }).run();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    failure = thrown;
    ended = true;
    changed.notify_all();
  }

  void deliver(std::span<const std::byte> bytes) {
    std::unique_lock lock(mutex);
    changed.wait(lock, stop.get_token(), [&] { return arrived.size() < capacity; });
    throw_if_stopped(stop.get_token(), url.shown());
    arrived.insert(arrived.end(), bytes.begin(), bytes.end());
    changed.notify_all();
  }

  size_t read(std::span<std::byte> out) {
    maker.require_this("the reader");
    if (used == current.size()) {
      current.clear();
      used = 0;
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !arrived.empty() || ended; });
      if (arrived.empty() && failure) std::rethrow_exception(failure);
      std::swap(arrived, current);
      changed.notify_all();
    }
    const size_t count = std::min(out.size(), current.size() - used);
    std::copy_n(current.begin() + static_cast<std::ptrdiff_t>(used), count, out.begin());
    used += count;
    return count;
  }

  const internal::MakerProcess maker;
  const HttpTarget target;
  const HttpUrl& url;
  const size_t capacity;
  HttpReadOptions options;
  std::stop_source stop;  // ends the transfer: on destruction, or on the caller's stop request

  // Used by the reader only.
  std::vector<std::byte> current;
  size_t used = 0;

  std::mutex mutex;
  std::condition_variable_any changed;
  std::vector<std::byte> arrived;
  bool begun = false;
  bool ended = false;
  std::exception_ptr failure;

  std::optional<std::stop_callback<StopRelay>> outer_stop;
  parallel::ServiceThread thread;  // last member: joined before the others are destroyed
};

HttpSource::HttpSource(HttpTarget target, const HttpReadOptions& options)
    : state_(new State(std::move(target), options)) {}

HttpSource::~HttpSource() = default;

size_t HttpSource::read(std::span<std::byte> out) { return state_->read(out); }

const std::string& HttpSource::path() const { return state_->url.shown(); }

}  // namespace recordpipe
