// Builds the elements of HTML pages: their head, SVG histograms, bar lists, articles of features,
// and the JSON records for view's script. All text in them is escaped.
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

// "a.tfrecord and 2 more", without the folders.
std::string page_title(const std::vector<std::string>& files);
// Returns a page up to <body>, inclusive, with the style sheet. Its content security policy forbids
// to load anything, and any script but `script`, or all if it is empty.
std::string page_head(const std::string& title, std::string_view script = {});

// Escapes `json` for a <script> element, so that it can't end the element.
std::string script_json(std::string json);

// Returns a histogram as an inline SVG with a text description; "" if a number is infinite.
// `numbers` must not be empty.
std::string histogram_svg(const Distribution& numbers, std::string_view what);

// The same, above its smallest number, median and largest number.
std::string histogram_with_range(const Distribution& numbers, std::string_view what);
// A feature with facts about it and a picture, which may be empty.
std::string feature_article(std::string_view name, std::string_view facts,
                            std::string_view picture);

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
