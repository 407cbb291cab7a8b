// Scans any bytes for intact records with one thread and with many, mapped and as a stream, and
// compares the results with those of a search at every position.
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
