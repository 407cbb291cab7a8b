#include "dataset/io/file.h"

#include <algorithm>

#include "dataset/base/error.h"

namespace recordpipe {

std::string parent_directory(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<std::byte> read_all(ByteSource& source, size_t limit) {
  constexpr size_t kStep = size_t{1} << 20;
  std::vector<std::byte> content;
  while (true) {
    const size_t filled = content.size();
    // One byte more than the limit is asked for, to see whether the source goes on.
    const size_t step = std::min(kStep, limit - filled < kStep ? limit - filled + 1 : kStep);
    content.resize(filled + step);
    const size_t count = source.read(std::span(content).subspan(filled));
    content.resize(filled + count);
    if (count == 0) return content;
    if (content.size() > limit) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .path = source.path(),
                   .reason = "longer than the " + std::to_string(limit) + " bytes allowed"});
    }
  }
}

}  // namespace recordpipe
