// Parses any bytes as a TensorProto: they are rejected, or written again as a block of bytes, they
// are the same tensor.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/example/tensor_proto.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}

std::string field(char tag, const std::string& content) {
  return tag + varint(content.size()) + content;
}

std::string elements_of(const TensorView& tensor) {
  std::string out(tensor.size() * size_of(tensor.type()), 'x');
  tensor.copy_to(std::as_writable_bytes(std::span(out)));
  return out;
}

// As tf.io.serialize_tensor writes it.
std::string encoded(const TensorView& tensor, const std::string& elements) {
  std::string shape;
  for (const size_t size : tensor.shape()) shape += field('\x12', '\x08' + varint(size));
  std::string out = '\x08' + varint(static_cast<uint64_t>(tensor.type())) + field('\x12', shape);
  return elements.empty() ? out : out + field('\x22', elements);
}

void check_input(const std::string& input) {
  try {
    const TensorView tensor = parse_tensor(as_bytes(input));
    require(tensor.stored() <= tensor.size(), "more elements than the shape has");
    if (tensor.size() > 1 << 20) return;
    const std::string elements = elements_of(tensor);
    const std::string again = encoded(tensor, elements);
    const TensorView same = parse_tensor(as_bytes(again));
    require(same.type() == tensor.type(), "another type");
    require(std::ranges::equal(same.shape(), tensor.shape()), "another shape");
    require(elements_of(same) == elements, "other elements");
  } catch (const Error& error) {
    require(error.offset().value_or(0) <= input.size(), "an error past the end");
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
