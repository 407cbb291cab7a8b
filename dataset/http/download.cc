// The attempts that make up a download, and what each answer means for the part that is there.
#include "recordpipe/http/download.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dataset/http/headers.h"
#include "dataset/http/partial_download.h"
#include "dataset/http/range.h"
#include "dataset/http/status.h"
#include "recordpipe/error.h"
#include "recordpipe/http/url.h"
#include "recordpipe/sha256.h"

namespace recordpipe {
namespace {

class Download {
 public:
  Download(FileSystem& file_system, const HttpUrl& url, const std::string& target,
           const DownloadOptions& options)
      : url_(url),
        options_(options),
        wanted_(options.sha256 ? parse_sha256(*options.sha256) : ""),
        client_(options.http),
        retry_(options.retry, options.http.stop, options.notice),
        part_(file_system, target, url.text(), options.http.stop) {
    report_.resumed_from = part_.size();
  }

  DownloadReport run() {
    // A part may be whole: an earlier run was killed before it could give it its name.
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
  enum class Body {
    ignored,   // the answer is not the file
    fresh,     // from zero, but too little has arrived to see that it is a file
    appended,  // goes on where the part ends
  };

  // One request. False if it must be made again, from zero.
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
    client_.get(url_, headers,
                {.on_response = [this](const HttpResponse& response) { return take(response); },
                 .on_body = [this](std::span<const std::byte> bytes) { take(bytes); },
                 .on_tick = [this] { report_progress(); }});
    if (body_ == Body::ignored) return whole_;
    if (body_ == Body::fresh) begin();
    if (part_.size() < std::max(end_.value_or(0), total_.value_or(0))) {
      throw TransientError({.kind = ErrorKind::network,
                            .path = url_.shown(),
                            .reason = "the server sent less than the file"});
    }
    return true;
  }

  // The head of the answer. False if its body is of no use.
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

  // 206 Partial Content: goes to the end of the part if it is what was asked for.
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

  // 416 Range Not Satisfiable: there is nothing after what we have. If that is the size the file
  // has and always had, it is whole; but if it should have had another checksum, it is the wrong
  // one.
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

  // Only here, with something to have in its place, an old part is given up.
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
      notify("the pieces do not make up the file that was asked for, starting from zero");
      start_over({});
      return false;
    }
    const uint64_t size = part_.size();
    part_.discard();
    throw Error({.kind = ErrorKind::checksum_mismatch,
                 .path = url_.shown(),
                 .reason = "wrong checksum: the SHA-256 of the " + std::to_string(size) +
                           " bytes received is " + found + ", expected " + wanted_,
                 .hint = "the file was damaged on its way or has changed on the server: run again, "
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
                 .reason = "the file has more than " + std::to_string(options_.max_bytes) +
                           " bytes, the most that is downloaded",
                 .hint = "check the URL"});
  }

  // Where to go on from.
  std::string advice() const {
    if (part_.size() == 0) return "";
    return std::to_string(part_.size()) + " bytes are in " + printable(part_.path()) +
           ": run again to go on from there";
  }

  void notify(const std::string& what) const {
    if (options_.notice) options_.notice(printable(url_.shown()) + ": " + what);
  }

  void report_progress() const {
    if (options_.progress) options_.progress({"download", part_.size(), total_});
  }

  const HttpUrl& url_;
  const DownloadOptions& options_;
  const std::string wanted_;  // SHA-256, "" for any
  HttpClient client_;
  HttpRetry retry_;
  PartialDownload part_;
  DownloadReport report_;

  // Of the request under way.
  bool resuming_ = false;
  bool whole_ = false;
  Body body_ = Body::ignored;
  PartialDownload::Origin fresh_origin_;
  std::vector<std::byte> head_;
  std::optional<uint64_t> end_;    // where the part will end with this body
  std::optional<uint64_t> total_;  // the size of the file
};

}  // namespace

DownloadReport download(FileSystem& file_system, const std::string& url, const std::string& target,
                        const DownloadOptions& options) {
  return Download(file_system, HttpUrl(url), target, options).run();
}

}  // namespace recordpipe
