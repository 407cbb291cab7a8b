#include "dataset/example/event_view.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fnmatch.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/internal/feature_reader.h"

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
constexpr uint32_t kTensorStrings = 8;
constexpr uint64_t kStrings = 7;  // DT_STRING

std::string_view as_view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

double from_float16(uint16_t bits) {
  constexpr int kMantissa = 10, kBias = 15, kMaxExponent = 31;
  const int exponent = bits >> kMantissa & kMaxExponent;
  const int mantissa = bits & ((1 << kMantissa) - 1);
  double value = std::ldexp(mantissa, 1 - kBias - kMantissa);
  if (exponent == kMaxExponent) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent > 0) {
    value = std::ldexp(mantissa + (1 << kMantissa), exponent - kBias - kMantissa);
  }
  return bits >> 15 ? -value : value;
}

template <typename Integer>
double from_integer(Integer number, std::string& digits) {
  digits = std::to_string(number);
  return static_cast<double>(number);
}

// Returns the value of an element that isn't complex, whose bytes are the lowest of `bits`.
// `digits`: as of SummaryValueView.
double number_of(TensorType type, uint64_t bits, std::string& digits) {
  switch (type) {
    case TensorType::float32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case TensorType::float64:
      return std::bit_cast<double>(bits);
    case TensorType::bfloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case TensorType::float16:
      return from_float16(static_cast<uint16_t>(bits));
    case TensorType::int64:
      return from_integer(static_cast<int64_t>(bits), digits);
    case TensorType::int32:
      return from_integer(static_cast<int32_t>(bits), digits);
    case TensorType::int16:
      return from_integer(static_cast<int16_t>(bits), digits);
    case TensorType::int8:
      return from_integer(int{static_cast<int8_t>(bits)}, digits);
    case TensorType::uint8:
    case TensorType::boolean:
    case TensorType::uint16:
    case TensorType::uint32:
    case TensorType::uint64:
    case TensorType::complex64:
    case TensorType::complex128:
      break;
  }
  return from_integer(bits, digits);
}

// Sets `tensor`, or `scalar` if it has a single number; neither for strings and damaged tensors.
void read_numbers(std::span<const std::byte> message, SummaryValueView& value) {
  try {
    value.tensor = parse_tensor(message);
  } catch (const Error&) {
    return;
  }
  if (value.tensor->size() != 1) return;
  const bool is_number =
      for_each_number(*value.tensor, [&](double number, std::string_view digits) {
        value.scalar = number;
        value.digits = digits;
      });
  if (is_number) value.tensor.reset();
}

// The strings of a tensor; of others none.
std::vector<std::string_view> texts_of(WireReader tensor) {
  std::vector<std::string_view> texts;
  bool are_strings = false;
  while (!tensor.done()) {
    const uint32_t tag = tensor.read_tag();
    if (tag == wire_tag(kTensorType, WireType::varint)) {
      are_strings = tensor.read_varint() == kStrings;
    } else if (tag == length_delimited_tag(kTensorStrings)) {
      texts.push_back(as_view(tensor.read_bytes()));
    } else {
      tensor.skip(tag);
    }
  }
  if (!are_strings) texts.clear();
  return texts;
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
      if (field != kTensor) continue;
      value.texts = texts_of(content);
      if (value.texts.empty()) read_numbers(content.rest(), value);
    } else {
      message.skip(tag);
    }
  }
  return value;
}

}  // namespace

bool for_each_number(const TensorView& tensor, const TensorNumberFunction& function) {
  constexpr size_t kMaxRepeated = 1024;
  const bool is_complex =
      tensor.type() == TensorType::complex64 || tensor.type() == TensorType::complex128;
  if (is_complex || tensor.size() > std::max(tensor.stored(), kMaxRepeated)) return false;
  const size_t width = size_of(tensor.type());
  std::vector<std::byte> elements(tensor.size() * width);
  tensor.copy_to(elements);
  for (size_t at = 0; at < elements.size(); at += width) {
    std::array<std::byte, sizeof(uint64_t)> bytes = {};
    std::copy_n(elements.begin() + static_cast<std::ptrdiff_t>(at), width, bytes.begin());
    std::string digits;
    const double value =
        number_of(tensor.type(), load_little_endian<uint64_t>(bytes.data()), digits);
    function(value, digits);
  }
  return true;
}

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

bool fits_tag(std::string_view tag, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), std::string(tag).c_str(), 0) == 0;
}

bool keep_selected(EventView& event, const EventFilter& filter) {
  if (event.step < filter.first_step || event.step >= filter.end_step) return false;
  if (filter.tags.empty()) return true;
  std::erase_if(event.summary, [&](const SummaryValueView& value) {
    return std::ranges::none_of(
        filter.tags, [&](const std::string& pattern) { return fits_tag(value.tag, pattern); });
  });
  return !event.summary.empty();
}

}  // namespace recordpipe
