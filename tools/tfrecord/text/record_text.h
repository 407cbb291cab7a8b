// Records and their values in words, for people: as show prints them, and as view's page has them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/record_json.h"

namespace recordpipe {

// What bytes are: "cat" (text, its beginning where it is long), "PNG 32x32, 2,048 bytes", "JPEG
// 640x480, ...", or "3,072 bytes: 00 07 0e 15 ...".
std::string describe_bytes(std::span<const std::byte> bytes);

// A line about the record, then one for each feature with its first values.
std::string record_text(const ShownRecord& shown);

// Text as it is ("" in quotes, where it is empty), others by what they are ("PNG file, 32 x 32,
// 1,234 bytes") or their first bytes; at most `longest` characters, and a few.
std::string bytes_text(std::span<const std::byte> value, size_t longest);
// A feature's values, the first few of many.
std::string values_text(const FeatureView& feature);
// "3 steps: [1, 2], [], [5]": the same of the first few steps.
std::string steps_text(const FeatureListView& list);

}  // namespace recordpipe
