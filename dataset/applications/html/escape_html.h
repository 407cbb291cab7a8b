// Text for an HTML page, of which nothing is ever more than text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "recordpipe/internal/utf8.h"

namespace recordpipe {

// For content and for attributes in double quotes: & < > " ' are escaped, what is not UTF-8 becomes
// U+FFFD, and control characters that HTML doesn't allow do, too.
inline std::string escape_html(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0 || (c >= 0 && c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace recordpipe
