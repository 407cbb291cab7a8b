// Stops long operations on request.
#pragma once

#include <stop_token>
#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Throws Error{cancelled}, with `path`, if a stop was requested.
inline void throw_if_stopped(const std::stop_token& stop, const std::string& path) {
  if (!stop.stop_requested()) return;
  throw Error({.kind = ErrorKind::cancelled, .path = path, .reason = "interrupted"});
}

}  // namespace recordpipe
