#include "dataset/http/files/size.h"

#include "dataset/http/headers.h"
#include "dataset/http/status.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Returns the size of the file, from the response to a request for its first byte.
uint64_t size_of(const HttpResponse& response) {
  if (response.status != 200 && response.status != 206 && response.status != 416) {
    refuse_status(response);
  }
  if (is_html_type(response.content_type) && response.status != 416) refuse_web_page(response.url);
  const auto range = parse_content_range(response.content_range);
  const std::optional<uint64_t> size = response.status == 200 ? response.content_length
                                       : range                ? range->total
                                                              : std::nullopt;
  if (size) return *size;
  throw Error({.kind = ErrorKind::unsupported,
               .path = response.url.shown(),
               .reason = "the server does not report the file's size",
               .hint = "download the file, then read it"});
}

}  // namespace

std::optional<FileStatus> status_at(const HttpTarget& target, const HttpReadOptions& options,
                                    HttpClient& client) {
  HttpRetry retry(options.retry, options.http.stop, options.notice);
  while (true) {
    try {
      const auto reply =
          target.send(client, {"Accept-Encoding: identity", "Range: bytes=0-0"}, options.http.stop);
      const HttpResponse& response = reply->head();
      retry.answered();
      return FileStatus{FileKind::regular, size_of(response)};
    } catch (const TransientError& error) {
      retry.wait_after(error);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      return std::nullopt;
    }
  }
}

}  // namespace recordpipe
