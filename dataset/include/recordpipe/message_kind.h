// Detection of the message type of a record from its bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace recordpipe {

enum class MessageKind {
  example,           // tf.train.Example
  sequence_example,  // tf.train.SequenceExample
  event,             // TensorBoard's Event
  unknown,
};

// "Example", "SequenceExample", "Event", "unknown".
std::string_view to_string(MessageKind kind);

// The message type of `record`. Serialised messages do not contain their type, and protobuf's
// parser accepts many messages as another type. The type is therefore determined by distinctive
// fields:
//   Event            the wall time (field 1, fixed64), and only fields of Event
//   SequenceExample  valid feature lists (field 2), and a valid context if there is one
//   Example          valid features (field 1). The same bytes are also a SequenceExample without
//                    feature lists; the result is Example.
// Features and feature lists that are not empty must have an entry. An empty record is an Example
// without features. Never throws. Reads the whole record: a few nanoseconds per value.
MessageKind message_kind(std::span<const std::byte> record);

}  // namespace recordpipe
