#include "dataset/tfds/shapes.h"

#include <algorithm>

#include "recordpipe/base/error.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {
namespace {

[[noreturn]] void fail(const std::string& reason, ErrorKind kind = ErrorKind::unsupported) {
  throw Error({.kind = kind, .reason = reason});
}

}  // namespace

std::string declared_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += dimension == kUnknown ? "?" : std::to_string(dimension);
  }
  return text + "]";
}

uint64_t known_size(std::span<const int64_t> shape, size_t width, uint64_t max_bytes) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  uint64_t size = 1;
  for (const int64_t dimension : shape) {
    const auto length = static_cast<uint64_t>(dimension);
    if (length > max_bytes / width / size) {
      fail("a tensor of the shape " + declared_text(shape) + " takes more than " +
               std::to_string(max_bytes) + " bytes",
           ErrorKind::limit_exceeded);
    }
    size *= length;
  }
  return size;
}

std::vector<size_t> completed_shape(std::span<const int64_t> declared, size_t count) {
  std::vector<size_t> shape;
  uint64_t known = 1;  // stays at most count * the next dimension: overflow is checked
  size_t unknown = declared.size();
  bool fits = true;
  for (size_t i = 0; i < declared.size(); ++i) {
    const auto dimension = static_cast<uint64_t>(declared[i]);
    if (declared[i] == kUnknown) {
      unknown = i;
      shape.push_back(0);
    } else {
      fits = fits && !__builtin_mul_overflow(known, dimension, &known);
      shape.push_back(dimension);
    }
  }
  if (unknown == declared.size()) {
    fits = fits && known == count;
  } else if (known == 0) {
    fits = fits && count == 0;
  } else {
    fits = fits && count % known == 0;
    if (fits) shape[unknown] = count / known;
  }
  if (!fits) fail(std::to_string(count) + " values, for the shape " + declared_text(declared));
  return shape;
}

std::vector<int64_t> merged_shape(std::span<const int64_t> declared,
                                  std::span<const int64_t> stored) {
  bool fits = stored.size() == declared.size();
  for (size_t i = 0; fits && i < stored.size(); ++i) {
    fits = stored[i] >= 0 && (declared[i] == kUnknown || declared[i] == stored[i]);
  }
  if (!fits) {
    fail("a tensor of the shape " + declared_text(stored) + ", not of the declared shape " +
         declared_text(declared));
  }
  return {stored.begin(), stored.end()};
}

}  // namespace recordpipe::tfds
