#include "dataset/http/files/range_request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dataset/http/headers.h"
#include "dataset/http/status.h"

namespace recordpipe {

RangeRequest::RangeRequest(const HttpTarget& target, const HttpReadOptions& options,
                           HttpClient& client, uint64_t first, std::span<std::byte> out,
                           const std::optional<RangeVersion>& version)
    : target_(target),
      client_(client),
      first_(first),
      out_(out),
      stop_(options.http.stop),
      retry_(options.retry, options.http.stop, options.notice) {
  if (!version) return;
  total_ = version->total;
  validator_ = version->validator;
}

void RangeRequest::start() {
  try {
    started_ = send();
  } catch (const Error&) {
    // run() sends it again.
  }
}

void RangeRequest::run() {
  size_t failed_at = 0;
  while (filled_ < out_.size()) {
    try {
      fetch();
    } catch (const TransientError& error) {
      if (filled_ - failed_at >= kSuccessfulTransfer) retry_.succeeded();
      failed_at = filled_;
      retry_.wait_after(error);
    }
  }
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
    for (auto bytes = reply->next(); !bytes.empty(); bytes = reply->next()) take(bytes);
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

void RangeRequest::take(std::span<const std::byte> bytes) {
  if (bytes.size() > out_.size() - filled_) {
    throw Error({.kind = ErrorKind::network,
                 .path = target_.url.shown(),
                 .offset = first_ + out_.size(),
                 .reason = "the server sent more than it announced"});
  }
  const std::span<std::byte> to = out_.subspan(filled_, bytes.size());
  if (to.data() != bytes.data()) std::ranges::copy(bytes, to.begin());
  filled_ += bytes.size();
}

}  // namespace recordpipe
