// Writes a record as a JSON object, as `tfrecord show --json` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recordpipe/example/message_view.h"
#include "recordpipe/record/record.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {

struct EventFilter;

// A record and its position.
struct ShownRecord {
  std::string_view path = {};  // default: not printed
  uint64_t number = 0;
  Record record = {};
  const MessageView& message;  // of record.data; only its features are printed
  // The message in the output's format, printed instead of the features: of a type that is known
  // otherwise.
  const std::string* content = nullptr;
  const EventFilter* events = nullptr;  // what is printed of an Event; null: all
};

// Appends one line:
//   Example          {"record": N, "offset": B, "features": {"name": [values], ...}}
//   SequenceExample  the same, with its context as "features", and "feature_lists": {"name":
//                    [[values of a step], ...], ...}
//   ExampleListWithContext  the same, with its context as "features", and "examples": [{"name":
//                    [values], ...}, ...], without the features that an Example lacks
//   Event            {"record", "offset", "event": {"wall_time", "step", "summary": [{"tag",
//                    "value" or "text": [...]}, ...]}}, or another field instead of "summary"
//   with `content`   {"record", "offset", "message": content}
//   unknown          {"record", "offset", "payload": text or {"base64": "..."}}, and "undecided" if
//                    MessageView::undecided() says why
// "kinds" gives the kind of each feature with an empty list: {"name": "bytes", "float" or "int64"}.
// "step_kinds" does so for feature lists with such steps: {"name": [kind of a step, or null, ...]}.
// Values are encoded as in json_text.h.
void append_record_json(const ShownRecord& shown, JsonText& json);

// Appends the members from "features" on, for a message that has features.
void append_features_json(const MessageView& message, JsonText& json);

}  // namespace recordpipe
