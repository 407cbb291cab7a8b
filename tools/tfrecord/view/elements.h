// Builds the elements of the HTML page: JSON records for its script, SVG histograms, and bar lists.
// All text in them is escaped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "recordpipe/record/record.h"
#include "recordpipe/toolkit/distribution.h"
#include "tools/tfrecord/view/episode.h"
#include "tools/tfrecord/view/image_finder.h"

namespace recordpipe {

// Escapes `json` for a <script> element, so that it can't end the element.
std::string script_json(std::string json);

// Returns a histogram as an inline SVG with a text description; "" if a number is infinite.
// `numbers` must not be empty.
std::string histogram_svg(const Distribution& numbers, std::string_view what);

struct Bar {
  std::string name = {};
  uint64_t count = 0;
};
// Returns an HTML list of bars with their names and counts.
std::string bar_list(const std::vector<Bar>& bars);

struct Card {
  size_t file = 0;      // index of the input
  uint64_t number = 0;  // index in its file, from 0
  const Record& record;
  const MessageView& message;
  std::optional<std::string> label = {};
  std::optional<FoundImage> image = {};
  std::optional<Episode> episode = {};
};

// {"file", "record", "offset", "bytes", "kind", "label", "image": {"type", "data", "width",
// "height"} or {"problem"}, "episode": {"steps", "strips": [[name, [[step, image], ...]], ...],
// "plots": [{"name", "dimensions", "min", "max", "lines": [path data, ...]}, ...]},
// "features": [[name, kind, text], ...]}; missing values are omitted. For
// TensorBoard's Events, "features" are the time, the step, and the values with their tags. A record
// without features has "content" in their place.
std::string card_json(const Card& card);

}  // namespace recordpipe
