#include "dataset/http/files/range_request.h"

#include <algorithm>
#include <utility>

#include "dataset/http/headers.h"
#include "dataset/http/status.h"

namespace recordpipe {
namespace {

constexpr size_t kFirstRange = size_t{512} << 10;

}  // namespace

RangeRequest::RangeRequest(const HttpTarget& target, const HttpReadOptions& options,
                           HttpClient& client, uint64_t first, size_t size,
                           const std::optional<RangeVersion>& version)
    : target_(target),
      client_(client),
      first_(first),
      stop_(options.http.stop),
      retry_(options.retry, options.http.stop, options.notice) {
  bytes.resize(size);
  out_ = bytes;
  if (version) {
    total_ = version->total;
    validator_ = version->validator;
  }
  try {
    started_ = send();
  } catch (const Error&) {
    // receive() sends it again.
  }
}

void RangeRequest::receive() {
  size_t failed_at = 0;
  try {
    while (filled_ < out_.size()) {
      try {
        fetch();
      } catch (const TransientError& error) {
        if (filled_ - failed_at >= kSuccessfulTransfer) retry_.succeeded();
        failed_at = filled_;
        retry_.wait_after(error);
      }
    }
  } catch (...) {
    bytes.resize(filled_);
    throw;
  }
  bytes.resize(filled_);
}

std::unique_ptr<HttpReply> RangeRequest::send() {
  last_ = first_ + out_.size() - 1;
  std::vector<std::string> headers{
      "Accept-Encoding: identity",
      "Range: bytes=" + std::to_string(first_ + filled_) + "-" + std::to_string(last_)};
  if (!validator_.empty()) headers.push_back(target_.condition_header(validator_));
  return target_.send(client_, std::move(headers), stop_, out_.subspan(filled_));
}

void RangeRequest::fetch() {
  const size_t before = filled_;
  const std::unique_ptr<HttpReply> reply = started_ ? std::move(started_) : send();
  if (take(reply->head(), first_ + before)) {
    for (auto piece = reply->next(); !piece.empty(); piece = reply->next()) take(piece);
  }
  if (filled_ < out_.size() && filled_ == before) {
    throw TransientError({.kind = ErrorKind::network,
                          .path = target_.url.shown(),
                          .reason = "the server sent no bytes of the range it announced"});
  }
}

bool RangeRequest::take(const HttpResponse& response, uint64_t begin) {
  retry_.answered();
  switch (response.status) {
    case 206:
      break;
    case 416: {
      const auto range = parse_content_range(response.content_range);
      if (total_ || !range || range->total != 0) throw file_changed(target_.url);
      return nothing_there();
    }
    case 412:
      if (total_) throw file_changed(target_.url);
      refuse_status(response);
    case 200:
      refuse_whole_file(response);
      return nothing_there();
    default:
      refuse_status(response);
  }
  if (is_html_type(response.content_type)) refuse_web_page(target_.url);
  const auto part = matching_part(response, begin, total_, validator_);
  if (!part || part->last > last_) {
    if (total_) throw file_changed(target_.url);
    throw Error({.kind = ErrorKind::network,
                 .path = target_.url.shown(),
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
bool RangeRequest::nothing_there() {
  total_ = 0;
  out_ = {};
  return false;
}

// Handles 200, that is, the whole file in place of a part. Throws, except when an empty file is
// opened.
void RangeRequest::refuse_whole_file(const HttpResponse& response) const {
  if (!total_ && response.content_length == 0) return;
  if (is_html_type(response.content_type)) refuse_web_page(target_.url);
  const std::string validator = validator_of(response.etag, response.last_modified, response.date);
  if (total_ && validator != validator_) throw file_changed(target_.url);
  throw Error({.kind = ErrorKind::unsupported,
               .path = target_.url.shown(),
               .reason = "the server does not support range requests: it answered 200",
               .hint = "download the file, then read it"});
}

void RangeRequest::take(std::span<const std::byte> piece) {
  if (piece.size() > out_.size() - filled_) {
    throw Error({.kind = ErrorKind::network,
                 .path = target_.url.shown(),
                 .offset = first_ + out_.size(),
                 .reason = "the server sent more than it announced"});
  }
  const std::span<std::byte> to = out_.subspan(filled_, piece.size());
  if (to.data() != piece.data()) std::ranges::copy(piece, to.begin());
  filled_ += piece.size();
}

HttpRanges::HttpRanges(HttpTarget target, const HttpReadOptions& options,
                       std::shared_ptr<HttpClient> client, size_t size)
    : target_(std::move(target)), options_(options), client_(std::move(client)) {
  first_ =
      std::make_unique<RangeRequest>(target_, options_, *client_, 0, std::max<size_t>(size, 1));
}

std::vector<std::byte> HttpRanges::open() {
  const auto first = std::move(first_);
  first->receive();
  version_ = first->version();
  return std::move(first->bytes);
}

std::unique_ptr<RequestedRange> HttpRanges::request(uint64_t offset, size_t size) const {
  return std::make_unique<RangeRequest>(target_, options_, *client_, offset, size, version_);
}

RangeOptions range_options(const HttpReadOptions& options) {
  return {.smallest_window = options.smallest_window,
          .largest_window = options.largest_window,
          .second_range = options.range_size,
          .range_size = options.range_size,
          .ranges_ahead = options.ranges_ahead};
}

size_t first_range(const HttpReadOptions& options) {
  return std::min(options.range_size, kFirstRange);
}

}  // namespace recordpipe
