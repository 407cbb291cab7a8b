// Reports the progress of long operations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace recordpipe {

struct Progress {
  std::string_view activity;           // "download", "convert", ...; valid during the call only
  uint64_t done = 0;                   // in bytes
  std::optional<uint64_t> total = {};  // in bytes, if known
};

// Called on the thread that does the work, at most about ten times a second, and once at the end.
// May be empty. An exception thrown by the function ends the operation.
using ProgressFunction = std::function<void(const Progress&)>;

}  // namespace recordpipe
