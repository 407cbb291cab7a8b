// Decodes any bytes as an Example and as a SequenceExample: the decoded columns must equal the
// values found by protobuf's parser.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/column_comparison.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string differences[] = {recordpipe::example_column_difference(bytes),
                                     recordpipe::sequence_column_difference(bytes)};
  for (const std::string& difference : differences) {
    if (difference.empty()) continue;
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
  }
  return 0;
}
