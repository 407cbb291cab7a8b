#include "dataset/http/files/source.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "dataset/http/headers.h"
#include "dataset/http/status.h"
#include "dataset/http/target.h"

namespace recordpipe {

struct HttpSource::State {
  State(const HttpUrl& given_url, const HttpReadOptions& options)
      : target{.url = given_url},
        ahead(std::max<size_t>(options.read_ahead, 1)),
        client(options.http),
        retry(options.retry, options.http.stop, options.notice) {
    while (!reply) with_retries([this] { request(); });
  }

  template <typename Step>
  void with_retries(const Step& step) {
    try {
      step();
    } catch (const TransientError& error) {
      reply.reset();
      if (position > 0 && validator.empty()) throw cannot_go_on(error);
      if (position - failed_at >= kSuccessfulTransfer) retry.succeeded();
      failed_at = position;
      retry.wait_after(error);
    }
  }

  // Requests what hasn't been read.
  void request() {
    HttpRequest wanted{.url = target.url, .headers = {"Accept-Encoding: identity"}};
    if (position > 0) {
      wanted.headers.push_back("Range: bytes=" + std::to_string(position) + "-");
      wanted.headers.push_back(target.condition_header(validator));
    }
    passed_over = 0;
    auto sent = client.send(std::move(wanted), ahead);
    is_whole = !take(sent->head());
    reply = std::move(sent);
  }

  // Judges the head of a response. Returns false if the whole file was read before.
  bool take(const HttpResponse& response) {
    retry.answered();
    if (position > 0 && response.status == 206) {
      const auto part = matching_part(response, position, total, validator);
      if (!part) throw file_changed(target.url);
      total = part->total;
      return true;
    }
    if (position > 0 && response.status == 416) {
      const auto range = parse_content_range(response.content_range);
      if (!range || range->total != position || (total && total != position)) {
        throw file_changed(target.url);
      }
      return false;
    }
    if (position > 0 && response.status == 412) throw file_changed(target.url);
    if (response.status != 200) refuse_status(response);
    if (is_html_type(response.content_type)) refuse_web_page(target.url);
    const std::string found = validator_of(response.etag, response.last_modified, response.date);
    if (position == 0) {
      validator = found;
      total = response.content_length;
      return true;
    }
    // The server sent the whole file in place of a part: the bytes before `position` are skipped.
    if (found != validator) throw file_changed(target.url);
    passed_over = position;
    return true;
  }

  // Replaces `current` by the bytes that follow.
  void receive() {
    if (!reply) request();
    if (is_whole) return;
    current = {};
    used = 0;
    current = reply->next();
    if (current.empty()) {
      if (total && position < *total) {
        throw TransientError({.kind = ErrorKind::network,
                              .path = target.url.shown(),
                              .reason = "the server sent fewer bytes than the file has"});
      }
      is_whole = true;
      return;
    }
    used = std::min<uint64_t>(passed_over, current.size());
    passed_over -= used;
    if (total && current.size() - used > *total - position) {
      current = current.first(used + static_cast<size_t>(*total - position));
      failure =
          std::make_exception_ptr(Error({.kind = ErrorKind::network,
                                         .path = target.url.shown(),
                                         .offset = *total,
                                         .reason = "the server sent more than it announced"}));
    }
    position += current.size() - used;
  }

  size_t read(std::span<std::byte> out) {
    maker.require_this("the reader");
    while (used == current.size()) {
      if (failure) std::rethrow_exception(failure);
      if (is_whole) return 0;
      try {
        with_retries([this] { receive(); });
      } catch (...) {
        failure = std::current_exception();
      }
    }
    const size_t count = std::min(out.size(), current.size() - used);
    std::copy_n(current.begin() + static_cast<std::ptrdiff_t>(used), count, out.begin());
    used += count;
    return count;
  }

  Error cannot_go_on(const TransientError& error) const {
    return Error({.kind = error.kind(),
                  .path = error.path(),
                  .offset = position,
                  .reason = error.reason() +
                            ", and without an ETag or Last-Modified from the server the transfer "
                            "can't be resumed",
                  .hint = "download the file, then read it"});
  }

  const internal::MakerProcess maker;
  const HttpTarget target;
  const size_t ahead;
  HttpClient client;
  HttpRetry retry;
  std::string validator = {};               // of the file; "" for none
  std::optional<uint64_t> total = {};       // size of the file
  uint64_t position = 0;                    // bytes that have come into `current`
  uint64_t failed_at = 0;                   // `position` at the last failure
  uint64_t passed_over = 0;                 // bytes of the current response still to be skipped
  bool is_whole = false;                    // nothing follows `current`
  std::exception_ptr failure = {};          // after `current`
  std::span<const std::byte> current = {};  // of `reply`
  size_t used = 0;                          // bytes of `current`
  std::unique_ptr<HttpReply> reply = {};    // null after a failure
};

HttpSource::HttpSource(const HttpUrl& url, const HttpReadOptions& options)
    : state_(new State(url, options)) {}

HttpSource::~HttpSource() = default;

size_t HttpSource::read(std::span<std::byte> out) { return state_->read(out); }

const std::string& HttpSource::path() const { return state_->target.url.shown(); }

}  // namespace recordpipe
