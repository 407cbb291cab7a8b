// Formats untrusted names, mainly of features, and counts for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// Returns a feature's name in printable form: two quotes for an empty name, and only the first
// 100 bytes of a name of more than 200 bytes.
std::string name_text(std::string_view name);

// Returns the Levenshtein distance: how many bytes must be changed, inserted or deleted to turn one
// word into the other.
size_t edits(std::string_view a, std::string_view b);

// Lists the existing names for the end of a message, beginning with the names nearest to `wanted`:
// "there are label, image and 30 more", "there is label" or "there are none". If at most half of
// the letters of the nearest name differ, it ends with "; did you mean label?".
std::string there_are(std::vector<std::string> names, std::string_view wanted);

// 1234567 → "1,234,567"
inline std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

// "1 record", "1,234 records"
inline std::string counted(uint64_t number, std::string_view what) {
  return (grouped(number) + ' ').append(what).append(number == 1 ? "" : "s");
}

}  // namespace recordpipe
