// Stores untrusted names, mainly of features, in bounded memory. Formats counts as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dataset/base/names_in_words.h"

namespace recordpipe {

struct NameLimits {
  size_t max_names;
  size_t max_bytes;  // of all names together
};

// Returns the entry of `name`, which is added if the name is new, or null if the limits leave no
// room for a new name. `hint` is a guess of the entry's position and is moved past the entry,
// so look-ups in the map's order are fast. `bytes` is the total size of the names in all maps that
// share the limits.
template <typename Map>
typename Map::mapped_type* find_or_keep(Map& map, typename Map::iterator& hint,
                                        std::string_view name, const NameLimits& limits,
                                        size_t& bytes) {
  if (hint == map.end() || hint->first != name) {
    hint = map.lower_bound(name);
    if (hint == map.end() || hint->first != name) {
      if (map.size() >= limits.max_names || name.size() > limits.max_bytes - bytes) {
        return nullptr;
      }
      hint = map.emplace_hint(hint, std::string(name), typename Map::mapped_type());
      bytes += name.size();
    }
  }
  return &(hint++)->second;
}

}  // namespace recordpipe
