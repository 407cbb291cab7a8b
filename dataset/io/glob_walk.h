// Expands a glob pattern in one walk over the folders, with one listing of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataset/io/listings.h"

namespace recordpipe {

struct GlobMatch {
  std::string path = {};
  bool is_directory = false;
};

// As glob() (glob.h), and a pattern whose last component has no special characters also matches
// directories. Sorted, each path once.
std::vector<GlobMatch> glob(Listings& listings, std::string_view pattern);

// Returns `text` without the backslashes that escape a character.
std::string without_escapes(std::string_view text);

}  // namespace recordpipe
