// Runs the attempts of a download, and applies each response to the existing part.
#include "recordpipe/http/download.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dataset/http/files/partial_download.h"
#include "dataset/http/headers.h"
#include "dataset/http/status.h"
#include "recordpipe/base/error.h"
#include "recordpipe/http/url.h"
#include "recordpipe/io/sha256.h"

namespace recordpipe {
namespace {

class Download {
 public:
  Download(FileSystem& file_system, const HttpUrl& url, const std::string& target,
           const DownloadOptions& options)
      : url_(url),
        options_(options),
        wanted_(options.sha256 ? parse_sha256(*options.sha256) : ""),
        client_(reporting(options.http)),
        retry_(options.retry, options.http.stop, options.notice),
        part_(file_system, target, url.text(), options.http.stop) {
    report_.resumed_from = part_.size();
  }

  DownloadReport run() {
    // The part may be complete if an earlier process was killed before the rename.
    bool whole = part_.size() > 0 && part_.sha256() == wanted_;
    while (!whole) {
      try {
        whole = fetch() && is_the_wanted_file();
      } catch (const TransientError& error) {
        retry_.wait_after(error, advice());
      }
    }
    part_.commit();
    total_ = part_.size();
    report_progress();
    report_.bytes = part_.size();
    report_.sha256 = part_.sha256();
    return report_;
  }

 private:
  HttpClientOptions reporting(HttpClientOptions http) const {
    http.on_tick = [this] { report_progress(); };
    return http;
  }

  enum class Body {
    ignored,   // the response does not contain the file
    fresh,     // from zero; too few bytes so far to rule out a web page
    appended,  // continues at the end of the part
  };

  // Sends one request. Returns false if it must be repeated from zero.
  bool fetch() {
    const auto& origin = part_.origin();
    resuming_ = origin && part_.size() > 0 && part_.size() <= options_.max_bytes &&
                (!origin->validator.empty() || !wanted_.empty());
    whole_ = false;
    body_ = Body::ignored;
    head_.clear();
    std::vector<std::string> headers{"Accept-Encoding: identity"};
    if (resuming_) {
      headers.push_back("Range: bytes=" + std::to_string(part_.size()) + "-");
      if (!origin->validator.empty()) headers.push_back("If-Range: " + origin->validator);
    }
    const auto reply = client_.send({.url = url_, .headers = std::move(headers)});
    if (take(reply->head())) {
      for (auto bytes = reply->next(); !bytes.empty(); bytes = reply->next()) take(bytes);
    }
    if (body_ == Body::ignored) return whole_;
    if (body_ == Body::fresh) begin();
    if (part_.size() < std::max(end_.value_or(0), total_.value_or(0))) {
      throw TransientError({.kind = ErrorKind::network,
                            .path = url_.shown(),
                            .reason = "the server sent fewer bytes than the file has"});
    }
    return true;
  }

  // Handles the head of the response. Returns false to skip the body.
  bool take(const HttpResponse& response) {
    retry_.answered();
    if (resuming_ && response.status == 206) return take_piece(response);
    if (resuming_ && response.status == 416) return take_unsatisfiable(response);
    if (response.status != 200) refuse_status(response);
    refuse_html(is_html_type(response.content_type));
    refuse_beyond_cap(response.content_length.value_or(0));
    fresh_origin_ = {
        .validator = validator_of(response.etag, response.last_modified, response.date),
        .total = response.content_length};
    total_ = end_ = response.content_length;
    body_ = Body::fresh;
    return true;
  }

  // Handles 206 Partial Content: the body is appended to the part if it is the requested range.
  bool take_piece(const HttpResponse& response) {
    const PartialDownload::Origin& origin = *part_.origin();
    const auto piece = matching_part(response, part_.size(), origin.total, origin.validator);
    if (!piece) {
      start_over({});
      return false;
    }
    refuse_beyond_cap(piece->total);
    total_ = piece->total;
    end_ = piece->last + 1;
    part_.join();
    body_ = Body::appended;
    return true;
  }

  // Handles 416 Range Not Satisfiable: no bytes follow the part. The part is complete if its size
  // is the size that the file has now and had before. If a checksum is expected, the part does not
  // have it and is the wrong file.
  bool take_unsatisfiable(const HttpResponse& response) {
    const auto range = parse_content_range(response.content_range);
    const auto announced = part_.origin()->total.value_or(part_.size());
    whole_ = wanted_.empty() && range && range->total == part_.size() && announced == part_.size();
    if (!whole_) start_over({});
    return false;
  }

  void take(std::span<const std::byte> bytes) {
    report_.received += bytes.size();
    if (body_ == Body::appended) return append(bytes);
    head_.insert(head_.end(), bytes.begin(), bytes.end());
    if (const auto html = looks_like_html(head_)) {
      refuse_html(*html);
      begin();
    }
  }

  // Discards an old part. Called only when the replacement has begun to arrive.
  void begin() {
    start_over(std::move(fresh_origin_));
    body_ = Body::appended;
    append(head_);
  }

  void start_over(PartialDownload::Origin origin) {
    part_.restart(std::move(origin));
    report_.resumed_from = 0;
  }

  void append(std::span<const std::byte> bytes) {
    const uint64_t size = part_.size() + bytes.size();
    refuse_beyond_cap(size);
    if (end_ && size > *end_) {
      part_.discard();
      throw Error({.kind = ErrorKind::network,
                   .path = url_.shown(),
                   .offset = *end_,
                   .reason = "the server sent more than it announced"});
    }
    part_.append(bytes);
  }

  bool is_the_wanted_file() {
    const std::string found = part_.sha256();
    if (wanted_.empty() || found == wanted_) return true;
    if (part_.joined()) {
      notify("the joined parts have the wrong checksum, restarting from zero");
      start_over({});
      return false;
    }
    const uint64_t size = part_.size();
    part_.discard();
    throw Error({.kind = ErrorKind::checksum_mismatch,
                 .path = url_.shown(),
                 .reason = "wrong checksum: the SHA-256 of the " + std::to_string(size) +
                           " bytes received is " + found + ", expected " + wanted_,
                 .hint = "the file was damaged in transit or has changed on the server: run again, "
                         "or check the URL and the checksum"});
  }

  void refuse_html(bool is_html) const {
    if (is_html) refuse_web_page(url_);
  }

  void refuse_beyond_cap(uint64_t size) {
    if (size <= options_.max_bytes) return;
    part_.discard();
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .path = url_.shown(),
                 .reason = "the file exceeds the download limit of " +
                           std::to_string(options_.max_bytes) + " bytes",
                 .hint = "check the URL"});
  }

  std::string advice() const {
    if (part_.size() == 0) return "";
    return std::to_string(part_.size()) + " bytes are in " + printable(part_.path()) +
           ": run again to resume";
  }

  void notify(const std::string& what) const {
    if (options_.notice) options_.notice(printable(url_.shown()) + ": " + what);
  }

  void report_progress() const {
    if (options_.progress) options_.progress({"download", part_.size(), total_});
  }

  const HttpUrl& url_;
  const DownloadOptions& options_;
  const std::string wanted_;  // the expected SHA-256; "" for any
  HttpClient client_;
  HttpRetry retry_;
  PartialDownload part_;
  DownloadReport report_;

  // State of the current request.
  bool resuming_ = false;
  bool whole_ = false;
  Body body_ = Body::ignored;
  PartialDownload::Origin fresh_origin_;
  std::vector<std::byte> head_;
  std::optional<uint64_t> end_;    // the size of the part after this body
  std::optional<uint64_t> total_;  // the size of the file
};

}  // namespace

DownloadReport download(FileSystem& file_system, const std::string& url, const std::string& target,
                        const DownloadOptions& options) {
  return Download(file_system, HttpUrl(url), target, options).run();
}

}  // namespace recordpipe
