// Maps from names that somebody else chose, in bounded memory: names beyond a number or a size are
// not kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordpipe {

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

}  // namespace recordpipe
