// Options of the requests that belong to one call.
#pragma once

#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// Without a stop token of their own, those of the thread's call (call_stop.h).
inline HttpReadOptions for_this_call(HttpReadOptions options) {
  if (!options.http.stop.stop_possible()) options.http.stop = internal::call_stop;
  return options;
}

}  // namespace recordpipe
