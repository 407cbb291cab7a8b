// Refuses wrong arguments.
#pragma once

#include <string>
#include <string_view>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Throws Error{invalid_argument} unless `condition` holds.
inline void require(bool condition, std::string_view reason, std::string_view hint = {}) {
  if (condition) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = std::string(reason),
               .hint = std::string(hint)});
}

}  // namespace recordpipe
