#include "dataset/http/status.h"

namespace recordpipe {

void refuse_status(const HttpResponse& response) {
  Error::Parts parts{.kind = ErrorKind::network,
                     .path = response.url.shown(),
                     .reason = "the server answered " + std::to_string(response.status)};
  switch (response.status) {
    case 401:
    case 403:
    case 407:
      parts.kind = ErrorKind::permission_denied;
      parts.reason += ", access refused";
      parts.hint = "check the URL, and whether it requires a login";
      break;
    case 404:
    case 410:
      parts.kind = ErrorKind::not_found;
      parts.reason += ", not found";
      parts.hint = "check the URL: the file does not exist or was removed";
      break;
    case 429:
      parts.reason += ", too many requests";
      throw TransientError(std::move(parts), response.retry_after);
    case 408:
    case 500:
    case 502:
    case 503:
    case 504:
      parts.reason += ", the server is busy or failing";
      throw TransientError(std::move(parts), response.retry_after);
    default:
      parts.reason += ", an unexpected status";
      parts.hint = "check the URL";
      break;
  }
  throw Error(std::move(parts));
}

void refuse_web_page(const HttpUrl& url) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = url.shown(),
               .reason = "the server sent a web page in place of the file",
               .hint =
                   "open the URL in a browser: the network may require a login, or the file was "
                   "moved"});
}

Error file_changed(const HttpUrl& url) {
  return Error({.kind = ErrorKind::network,
                .path = url.shown(),
                .reason = "the file changed on the server while it was read",
                .hint = "run again"});
}

}  // namespace recordpipe
