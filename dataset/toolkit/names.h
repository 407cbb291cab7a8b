// Names that somebody else chose, of features above all: in messages, and kept in bounded memory;
// and counts in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// A feature's name as people read it: printable, "" where it is empty, the first 100 bytes of one
// that is much longer.
std::string name_text(std::string_view name);

// How many letters are to be changed, added or left out to make one word of the other
// (Levenshtein).
size_t edits(std::string_view a, std::string_view b);

// Which features there are, for the end of a message: "there are label, image and 30 more", the
// ones nearest to `wanted` first; "there is label"; "there are none".
std::string there_are(std::vector<std::string> names, std::string_view wanted);

struct NameLimits {
  size_t most_names;
  size_t most_bytes;  // of all names together
};

// The entry of `name`, which names come to in the order of the map, or null where it is a new one
// and there is no room. `hint` is where the entry may be, and goes on behind it; `bytes` is what
// the names of all maps that share the limits take.
template <typename Map>
typename Map::mapped_type* find_or_keep(Map& map, typename Map::iterator& hint,
                                        std::string_view name, const NameLimits& limits,
                                        size_t& bytes) {
  if (hint == map.end() || hint->first != name) {
    hint = map.lower_bound(name);
    if (hint == map.end() || hint->first != name) {
      if (map.size() >= limits.most_names || name.size() > limits.most_bytes - bytes) {
        return nullptr;
      }
      hint = map.emplace_hint(hint, std::string(name), typename Map::mapped_type());
      bytes += name.size();
    }
  }
  return &(hint++)->second;
}

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
