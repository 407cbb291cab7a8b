// Formats records and their values as text, for show and for view's page.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "dataset/example/event_view.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/record_json.h"

namespace recordpipe {

// Describes a bytes value: "cat" (text; long text is shortened), "PNG 32x32, 2,048 bytes",
// "JPEG 640x480, ...", or "3,072 bytes: 00 07 0e 15 ...".
std::string describe_bytes(std::span<const std::byte> bytes);

struct RecordTextOptions {
  bool colored = false;
  // Begins with PATH:NUMBER: as grep does, instead of "PATH, record NUMBER at OFFSET:".
  bool names_place_first = false;
};

// Returns one line about the record, then one line per feature with its first values.
std::string record_text(const ShownRecord& shown, const RecordTextOptions& options = {});

// Returns text as it is (cut after about `longest` bytes; "" in quotes if empty), and describes
// other bytes by their type ("png file, 1,234 bytes") or their first bytes.
std::string bytes_text(std::span<const std::byte> value, size_t longest);
// Returns the first few values of a feature and, if there are more, the number of all.
std::string values_text(const FeatureView& feature);
// "3 steps: [1, 2], [], [5]": values_text() of the first few steps.
std::string steps_text(const FeatureListView& list);

// A number, the first numbers of a tensor, texts, or the size of anything else.
std::string summary_value_text(const SummaryValueView& value);

}  // namespace recordpipe
