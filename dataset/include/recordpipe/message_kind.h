// What kind of message a record is, told from its bytes alone.
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

// What `record` is. Nothing in a record says so, and protobuf's parser takes many a message for
// another; so this asks for what tells them apart:
//   Event            its wall time (field 1, 8 bytes), and no field that Events don't have
//   SequenceExample  feature lists (field 2) that can be read, and a context that can, if any
//   Example          features (field 1) that can be read; its bytes are a SequenceExample without
//                    feature lists, too, but it is called an Example
// Features and feature lists with anything in them must have an entry. A record of no bytes is an
// Example without features (and any other message without fields). Never throws, whatever the
// bytes. Walks all of them: a few nanoseconds a value.
MessageKind message_kind(std::span<const std::byte> record);

}  // namespace recordpipe
