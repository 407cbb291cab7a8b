// A record in words, for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "recordpipe/toolkit/record_json.h"

namespace recordpipe {

// What bytes are: "cat" (text, its beginning where it is long), "PNG 32x32, 2,048 bytes", "JPEG
// 640x480, ...", or "3,072 bytes: 00 07 0e 15 ...".
std::string describe_bytes(std::span<const std::byte> bytes);

// A line about the record, then one for each feature with its first values.
std::string record_text(const ShownRecord& shown);

}  // namespace recordpipe
