// The rule for names of features that are written: protobuf's parsers refuse a key that is not
// UTF-8, and the whole record with it.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"

namespace recordpipe {

// Returns the place of the first byte that is not UTF-8; the size of `text` if all of it is.
inline size_t utf8_size(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && utf8_length(rest) > 0) rest.remove_prefix(utf8_length(rest));
  return text.size() - rest.size();
}

// Throws Error{invalid_argument} if `name` is not UTF-8.
inline void require_feature_name(std::string_view name) {
  if (is_utf8(name)) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "the name \"" + printable(name) + "\" of a feature is not UTF-8 at byte " +
                         std::to_string(utf8_size(name) + 1) + ": no protobuf would parse it"});
}

}  // namespace recordpipe
