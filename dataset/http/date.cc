#include <string>

#include "dataset/http/headers.h"
#include "dataset/http/transfer/libcurl.h"

namespace recordpipe {

std::optional<std::time_t> parse_http_date(std::string_view text) {
  const std::time_t time = libcurl().getdate(std::string(text).c_str(), nullptr);
  return time < 0 ? std::nullopt : std::optional(time);
}

}  // namespace recordpipe
