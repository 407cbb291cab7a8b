// The elements of the page: records for its script, histograms and bars; escaped, whatever they
// contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"
#include "recordpipe/toolkit/distribution.h"
#include "tools/tfrecord/view/image_finder.h"

namespace recordpipe {

// JSON for a <script> element: escaped so that it can't end the element.
std::string script_json(std::string json);

// A histogram as an inline SVG with a text description. `numbers` must not be empty.
std::string histogram_svg(const Distribution& numbers, std::string_view what);

struct Bar {
  std::string name = {};
  uint64_t count = 0;
};
// A list of bars with their names and counts, in HTML.
std::string bar_list(const std::vector<Bar>& bars);

struct Card {
  size_t file = 0;      // index of the input
  uint64_t number = 0;  // index in its file, from 0
  const Record& record;
  const MessageView& message;
  std::optional<std::string> label = {};
  std::optional<FoundImage> image = {};
};

// {"file", "record", "offset", "bytes", "kind", "label", "image": {"type", "data", "width",
// "height"} or {"problem"}, "features": [[name, kind, text], ...]}; missing values are omitted. For
// TensorBoard's Events, "features" are the time, the step, and the values by their tags.
std::string card_json(const Card& card);

}  // namespace recordpipe
