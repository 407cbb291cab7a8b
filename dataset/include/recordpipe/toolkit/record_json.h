// A record as a JSON object, as `tfrecord show --json` prints it.
#pragma once

#include <cstdint>
#include <string_view>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {

// A record and its position.
struct ShownRecord {
  std::string_view path = {};  // default: not printed
  uint64_t number = 0;
  Record record = {};
  const MessageView& message;  // of record.data; only its features are printed
};

// Appends one line:
//   Example          {"record": N, "offset": B, "features": {"name": [values], ...}}
//   SequenceExample  the same, its context as "features", and "feature_lists": {"name": [[values of
//                    a step], ...], ...}
//   Event            {"record", "offset", "event": {"wall_time", "step", "summary": [{"tag",
//                    "value"}, ...]}}, or another field in the place of "summary"
//   unknown          {"record", "offset", "payload": text or {"base64": "..."}}
// Features with an empty list have their kind in "kinds": {"name": "bytes", "float" or "int64"}.
// Feature lists with such steps have it in "step_kinds": {"name": [kind of a step, or null, ...]}.
// Values are encoded as in json_text.h.
void append_record_json(const ShownRecord& shown, JsonText& json);

// The members from "features" on, for an Example or a SequenceExample.
void append_features_json(const MessageView& message, JsonText& json);

}  // namespace recordpipe
