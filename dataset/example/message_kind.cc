#include "recordpipe/message_kind.h"

#include "recordpipe/message_view.h"

namespace recordpipe {

std::string_view to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::example:
      return "Example";
    case MessageKind::sequence_example:
      return "SequenceExample";
    case MessageKind::event:
      return "Event";
    case MessageKind::unknown:
      break;
  }
  return "unknown";
}

MessageKind message_kind(std::span<const std::byte> record) {
  MessageView message;
  message.read(record);
  return message.kind();
}

}  // namespace recordpipe
