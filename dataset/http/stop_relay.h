// Hands the stop request of a caller on to a source of one's own, as a std::stop_callback.
#pragma once

#include <stop_token>

namespace recordpipe {

struct StopRelay {
  std::stop_source& stop;  // must outlive the callback
  void operator()() const { stop.request_stop(); }
};

}  // namespace recordpipe
