// Finds the bytes of a record that the fields of a message type don't explain.
//
// Protobuf's parser takes many messages for another type: it skips unknown fields, and lets later
// values replace earlier ones. What it skips or replaces would be lost without a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "recordpipe/example/internal/wire_reader.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe {

// Returns the first such field of `record`, one that is skipped before one that is replaced.
// `record` must parse as a message of this `kind`: Example, SequenceExample, ExampleListWithContext
// or Event. Also a message whose map entries all lack a value has such a field: of a
// list of Examples, for instance, the parser makes an Example with such entries. Two entries with
// the same name are not looked for.
std::optional<UnreadField> find_unread_field(std::span<const std::byte> record, MessageKind kind);

// Returns a key that is not UTF-8, for which parsers refuse a message, if nothing else is wrong
// with `record`, which may be anything.
std::optional<UnreadField> find_bad_key(std::span<const std::byte> record, MessageKind kind);

inline constexpr uint32_t kWallTimeTag = wire_tag(1, WireType::fixed64);  // of an Event
// Whether an Event has the field with this tag.
bool is_event_field(uint32_t tag);

}  // namespace recordpipe
