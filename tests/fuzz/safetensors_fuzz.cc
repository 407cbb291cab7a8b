// Reads any bytes as a safetensors file: the file is rejected, or its tensors fill it without gaps
// or overlaps and have the sizes of their shapes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/checkpoint/safetensors.h"
#include "tests/support/single_file_system.h"

namespace recordpipe {
namespace {

void check_input(const std::string& input) {
  SingleFileSystem files(input);
  try {
    const SafetensorsReader reader(files, "input");
    size_t total = 0;
    for (const auto& [name, tensor] : reader.tensors()) {
      total += tensor.data.size();
      if (tensor.dtype != "F32") continue;
      const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
      size_t count = 1;
      for (const size_t length : shape) count *= length;
      if (reader.read_floats(name, shape).size() != count) std::abort();
    }
    if (total + 8 > input.size()) std::abort();
  } catch (const Error& error) {
    if (error.offset().value_or(0) > input.size()) std::abort();
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
