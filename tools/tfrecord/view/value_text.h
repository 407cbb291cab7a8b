// Values of features, for people: short, and text whatever they are.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "recordpipe/message_view.h"

namespace recordpipe {

// Text as it is ("" in quotes, where it is empty), others by what they are ("PNG file, 32 x 32,
// 1,234 bytes") or their first bytes; at most `longest` characters, and a few.
std::string bytes_text(std::span<const std::byte> value, size_t longest);
// A feature's values, the first few of many.
std::string values_text(const FeatureView& feature);
// "3 steps: [1, 2], [], [5]": the same of the first few steps.
std::string steps_text(const FeatureListView& list);

}  // namespace recordpipe
