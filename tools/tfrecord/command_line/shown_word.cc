#include "tools/tfrecord/command_line/shown_word.h"

#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {

std::string shown_word(std::string_view word) {
  std::string_view url = word;  // the first one, and all after it
  while (!url.empty() && !is_http_url(url)) url.remove_prefix(1);
  if (url.empty()) return std::string(word);
  const std::string_view path = without_query(url);
  const size_t host = path.find("://") + 3;
  const bool is_one = path.find_first_of(" ,") == path.npos && path.find("://", host) == path.npos;
  std::string shown(word.substr(0, word.size() - url.size()));
  return shown += is_one ? without_secrets(url) : std::string(url.substr(0, host)) + "...";
}

}  // namespace recordpipe
