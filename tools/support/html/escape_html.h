// Escapes text for HTML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "recordpipe/base/internal/utf8.h"

namespace recordpipe {

// Escapes & < > " ' for text content and for quoted attributes. Replaces bytes that are not UTF-8,
// and control characters other than tab and newline, with U+FFFD.
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
