#include "dataset/object_store/requests/fetch.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

std::optional<std::string> body_of(HttpReply& reply, size_t most) {
  std::string body;
  for (auto bytes = reply.next(); !bytes.empty(); bytes = reply.next()) {
    if (bytes.size() > most - body.size()) return std::nullopt;
    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return body;
}

FetchedDocument fetch(HttpRequest request, const HttpClientOptions& options) {
  static constexpr size_t kLargest = size_t{1} << 20;
  request.follow_redirects = false;
  HttpClient client(options);
  const auto reply = client.send(request);
  const long status = reply->head().status;
  auto body = body_of(*reply, kLargest);
  if (!body) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .path = request.url.shown(),
                 .reason = "the answer has more than 1 MiB",
                 .hint = "check the endpoint"});
  }
  return {.status = status, .body = std::move(*body)};
}

HttpClientOptions local_service(HttpClientOptions options) {
  static constexpr std::chrono::milliseconds kTimeout{1000};
  options.connect_timeout = std::min(options.connect_timeout, kTimeout);
  options.stall_timeout = std::min(options.stall_timeout, kTimeout);
  options.use_proxy = false;
  return options;
}

std::optional<std::chrono::system_clock::time_point> parse_utc_time(std::string_view text) {
  std::tm parts{};
  char zone = 0;
  const std::string copy(text.substr(0, 64));
  int used = 0;
  const int count =
      std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used);
  if (count != 6) return std::nullopt;
  size_t at = static_cast<size_t>(used);
  if (at < copy.size() && copy[at] == '.') at = copy.find_first_not_of("0123456789", at + 1);
  if (at < copy.size()) zone = copy[at];
  const bool is_utc = zone == 'Z' || (at < copy.size() && copy.substr(at) == "+00:00");
  if (!is_utc || parts.tm_mon < 1 || parts.tm_mon > 12) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string checked_secret(std::string value, const std::string& what) {
  if (std::ranges::all_of(value, [](char c) { return c > ' ' && c < 0x7f; })) return value;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = what + " holds a blank, a control character or non-ASCII text",
               .hint = "check how it was set, for example for a newline at its end"});
}

}  // namespace recordpipe
