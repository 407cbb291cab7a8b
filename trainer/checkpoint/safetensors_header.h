// The JSON header of a safetensors file. Its form is checked, but not its offsets against the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/trainer/checkpoint/safetensors.h"

namespace recordpipe {

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    std::string dtype;
    std::vector<uint64_t> shape;
    std::vector<uint64_t> offsets;  // begin and end
  };
  std::vector<Entry> entries;  // in the order of the file; names are unique
  SafetensorsMetadata metadata;
};

// A name or another text of the file for an error message: 'TEXT', one printable line, truncated if
// long.
std::string in_quotes(std::string_view text);

// Memory use is proportional to the header: nesting deeper than the format allows is rejected where
// it starts. Throws Error{corrupted} with `path`.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path);

}  // namespace recordpipe
