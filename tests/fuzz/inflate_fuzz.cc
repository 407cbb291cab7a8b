// Any bytes as a gzip or zlib stream: however it is read, in pieces or at once, the same content
// and the same error come out.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/io/compression.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

constexpr size_t kMostContent = size_t{1} << 16;

// What comes out, up to a limit, and the error's message.
std::pair<std::string, std::string> inflated(const std::string& compressed, Compression format,
                                             size_t piece) {
  std::pair<std::string, std::string> result;
  std::vector<std::byte> buffer(piece);
  try {
    const auto source = inflate(std::make_unique<MemorySource>(compressed), format);
    while (result.first.size() < kMostContent) {
      const size_t wanted = std::min(piece, kMostContent - result.first.size());
      const size_t count = source->read(std::span(buffer).first(wanted));
      if (count == 0) break;
      result.first += as_text(std::span(buffer).first(count));
    }
  } catch (const Error& error) {
    result.second = error.what();
    if (error.offset().value_or(0) > compressed.size()) std::abort();
  }
  return result;
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using recordpipe::Compression;
  const std::string input(reinterpret_cast<const char*>(data), size);
  for (const Compression format : {Compression::gzip, Compression::zlib}) {
    const auto at_once = recordpipe::inflated(input, format, recordpipe::kMostContent);
    if (recordpipe::inflated(input, format, 13) != at_once) std::abort();
  }
  return 0;
}
