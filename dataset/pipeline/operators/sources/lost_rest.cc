#include "dataset/pipeline/operators/sources/lost_rest.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/io/compression.h"

namespace recordpipe::internal {
namespace {

constexpr uint64_t kMaxCounted = uint64_t{256} << 20;

std::string loss_of(const std::string& amount) {
  return "the rest of the file, " + amount + ", is lost";
}

// The size of a local regular file. Other inputs may wait for their writer or for the network.
std::optional<uint64_t> size_of_local(FileSystem& file_system, const std::string& path) {
  if (file_system.reads_ahead(path) || !file_system.can_map(path)) return std::nullopt;
  return regular_file_size(file_system, path);
}

std::string loss_in_words(FileSystem& file_system, RecordReader& stream, const Error& error) {
  const std::optional<uint64_t> size = size_of_local(file_system, stream.path());
  if (!size) return "the rest of the file is lost";
  const uint64_t left = *size - std::min(*size, error.offset().value_or(*size));
  if (stream.compression() == Compression::none) {
    return loss_of(std::to_string(left) + " bytes");
  }
  if (const auto content = stream.pass_rest(kMaxCounted)) {
    const char* const at_least = *content == kMaxCounted ? "at least " : "";
    return loss_of(at_least + std::to_string(*content) + " bytes of its content");
  }
  return loss_of(std::to_string(left) + " of its " + std::to_string(*size) + " compressed bytes");
}

}  // namespace

LostRest lost_rest(FileSystem& file_system, RecordReader& stream, const Error& error) {
  try {
    return {error, loss_in_words(file_system, stream, error)};
  } catch (const Error&) {
    return {error, "the rest of the file is lost"};  // its size can't be found out
  }
}

}  // namespace recordpipe::internal
