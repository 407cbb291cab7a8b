// Data and pictures for an HTML page, safe whatever is in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/toolkit/distribution.h"

namespace recordpipe {

// JSON that stands in a <script>: nothing in it can end the element.
std::string script_json(std::string json);

// A histogram as an inline SVG that says in words what it shows. `numbers` has some.
std::string histogram_svg(const Distribution& numbers, std::string_view what);

struct Bar {
  std::string name = {};
  uint64_t count = 0;
};
// A list of bars with their names and counts, in HTML.
std::string bar_list(const std::vector<Bar>& bars);

}  // namespace recordpipe
