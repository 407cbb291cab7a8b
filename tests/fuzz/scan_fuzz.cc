// Any bytes scanned for intact records: by one thread and by many, mapped and as a stream, compared
// with trying every position.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/scan_comparison.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string difference =
      recordpipe::compare_scans(std::string(reinterpret_cast<const char*>(data), size));
  if (!difference.empty()) {
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
  }
  return 0;
}
