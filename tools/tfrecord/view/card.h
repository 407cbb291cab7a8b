// A record as the page's script gets it: JSON, safe inside a <script>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"
#include "tools/tfrecord/view/image_finder.h"

namespace recordpipe {

struct Card {
  size_t file = 0;      // which of the inputs
  uint64_t number = 0;  // in its file, from 0
  const Record& record;
  const MessageView& message;
  std::optional<std::string> label = {};
  std::optional<FoundImage> image = {};
};

// {"file", "record", "offset", "bytes", "kind", "label", "image": {"type", "data", "width",
// "height"} or {"problem"}, "features": [[name, kind, text], ...]}: what isn't there is left out.
// Of TensorBoard's Events, "features" are the time, the step, and the values by their tags.
std::string card_json(const Card& card);

}  // namespace recordpipe
