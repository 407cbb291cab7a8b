#include "dataset/example/event_view.h"

#include <array>
#include <bit>

#include "recordpipe/internal/endian.h"
#include "recordpipe/internal/example/feature_reader.h"
#include "recordpipe/tensor_proto.h"

namespace recordpipe {
namespace {

// Field numbers of TensorFlow's event.proto, summary.proto and tensor.proto.
constexpr std::array<std::string_view, 11> kEventFields = {"",
                                                           "",
                                                           "",
                                                           "file_version",
                                                           "graph_def",
                                                           "summary",
                                                           "log_message",
                                                           "session_log",
                                                           "tagged_run_metadata",
                                                           "meta_graph_def",
                                                           "source_metadata"};
constexpr uint32_t kSummary = 5;
constexpr uint32_t kSourceMetadata = 10;
constexpr uint32_t kSummaryValue = 1;
constexpr std::array<std::string_view, 9> kValueFields = {
    "", "", "simple_value", "", "image", "histo", "audio", "", "tensor"};
constexpr uint32_t kTag = 1;
constexpr uint32_t kSimpleValue = 2;
constexpr uint32_t kTensor = 8;
constexpr uint32_t kTensorType = 1;
constexpr uint32_t kTensorContent = 4;
constexpr uint32_t kTensorFloats = 5;

std::string_view as_view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the value of a tensor with a single float, double or integer; empty for all others.
std::optional<double> scalar_of(WireReader tensor) {
  uint64_t type = 0;
  std::span<const std::byte> content;
  while (!tensor.done()) {
    const uint32_t tag = tensor.read_tag();
    if (tag == wire_tag(kTensorType, WireType::varint)) {
      type = tensor.read_varint();
    } else if (tag == length_delimited_tag(kTensorContent) ||
               tag == length_delimited_tag(kTensorFloats)) {
      content = tensor.read_bytes();
    } else {
      tensor.skip(tag);
    }
  }
  const auto type_is = [&](TensorType wanted) { return type == static_cast<uint64_t>(wanted); };
  if (content.size() == 4) {
    const auto bits = load_little_endian<uint32_t>(content.data());
    if (type_is(TensorType::float32)) return std::bit_cast<float>(bits);
    if (type_is(TensorType::int32)) return static_cast<int32_t>(bits);
  }
  if (content.size() == 8) {
    const auto bits = load_little_endian<uint64_t>(content.data());
    if (type_is(TensorType::float64)) return std::bit_cast<double>(bits);
    if (type_is(TensorType::int64)) return static_cast<double>(static_cast<int64_t>(bits));
  }
  return std::nullopt;
}

SummaryValueView read_value(WireReader message) {
  SummaryValueView value;
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    const uint32_t field = tag >> 3;
    if (tag == length_delimited_tag(kTag)) {
      value.tag = as_view(message.read_bytes());
    } else if (tag == wire_tag(kSimpleValue, WireType::fixed32)) {
      value.field = kValueFields[field];
      value.scalar = std::bit_cast<float>(message.read_fixed32());
    } else if (wire_type(tag) == WireType::length_delimited && field < kValueFields.size() &&
               !kValueFields[field].empty()) {
      const WireReader content = message.read_message();
      value.field = kValueFields[field];
      value.bytes = content.rest().size();
      if (field == kTensor) value.scalar = scalar_of(content);
    } else {
      message.skip(tag);
    }
  }
  return value;
}

}  // namespace

EventView read_event(std::span<const std::byte> record) {
  EventView event;
  WireReader message = read_example(record);
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    const uint32_t field = tag >> 3;
    if (tag == wire_tag(1, WireType::fixed64)) {
      const auto low = message.read_fixed32();
      const auto high = message.read_fixed32();
      event.wall_time = std::bit_cast<double>(uint64_t{high} << 32 | low);
    } else if (tag == wire_tag(2, WireType::varint)) {
      event.step = static_cast<int64_t>(message.read_varint());
    } else if (wire_type(tag) == WireType::length_delimited && field < kSourceMetadata &&
               !kEventFields[field].empty()) {
      const WireReader content = message.read_message();
      event.field = kEventFields[field];
      event.content = content.rest();
      if (field != kSummary) continue;
      read_messages(content, kSummaryValue,
                    [&](WireReader value) { event.summary.push_back(read_value(value)); });
    } else {
      message.skip(tag);
    }
  }
  return event;
}

}  // namespace recordpipe
