// Parses any bytes as an Example: the wire view and protobuf's parser must agree.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/example_comparison.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string difference =
      recordpipe::difference_from_protobuf(std::as_bytes(std::span(data, size)));
  if (difference.empty()) return 0;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}
