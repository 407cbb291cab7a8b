// Parses any bytes as an index file: the file is rejected, or equal to the bytes written for the
// parsed entries.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/record/record_index.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_input(const std::string& input) {
  RecordIndexReader reader(std::make_unique<MemorySource>(input));
  MemorySink written;
  RecordIndexWriter writer(written);
  bool whole = true;
  try {
    while (const auto entry = reader.read()) {
      writer.write(entry->size);
      require(reader.end() == entry->end(), "ends elsewhere");
    }
  } catch (const Error& error) {
    whole = false;
    require(error.offset() <= input.size(), "an error past the end");
  }
  writer.close();
  require(input.starts_with(written.content), "written again, other bytes");
  require(!whole || input == written.content, "entries are missing");
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
