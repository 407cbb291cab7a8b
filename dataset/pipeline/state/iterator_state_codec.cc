#include "dataset/pipeline/state/iterator_state_codec.h"

#include <span>

#include "dataset/example/wire_writer.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe::internal {
namespace {

// Field numbers of iterator_state.proto.
constexpr uint32_t kNumbers = 1;
constexpr uint32_t kInputs = 2;
constexpr uint32_t kPassedOver = 3;
constexpr uint32_t kPastEnd = 4;

constexpr uint32_t kVersion = 1;
constexpr uint32_t kPlanHash = 2;
constexpr uint32_t kPlanText = 3;
constexpr uint32_t kFileFingerprints = 4;
constexpr uint32_t kFilesPerFingerprint = 5;
constexpr uint32_t kPlace = 6;
constexpr uint32_t kPosition = 7;
constexpr uint32_t kEpoch = 8;
constexpr uint32_t kOpenedFiles = 9;
constexpr uint32_t kInputFiles = 10;
constexpr uint32_t kOperatorsHash = 11;
constexpr uint32_t kCrc32c = 15;

constexpr size_t kTailSize = 1 + sizeof(uint32_t);  // the field crc32c
constexpr size_t kMaxPlaceSize = size_t{1} << 30;   // messages of 2 GiB can't be parsed
constexpr size_t kRoom = 1024;                      // for most states, for all other fields

constexpr uint8_t kCrcTag = wire_tag(kCrc32c, WireType::fixed32);

constexpr uint32_t varint_tag(uint32_t field) { return wire_tag(field, WireType::varint); }
constexpr uint32_t fixed64_tag(uint32_t field) { return wire_tag(field, WireType::fixed64); }

// Numbers that are 0 and lists that are empty are left out, as proto3 has it.
void append_number(uint32_t field, uint64_t value, std::string& out) {
  if (value == 0) return;
  append_varint(varint_tag(field), out);
  append_varint(value, out);
}

template <class T>
void append_fixed(T value, std::string& out) {
  std::byte bytes[sizeof(T)];
  store_little_endian(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), sizeof(T));
}

void append_hash(uint32_t field, uint64_t hash, std::string& out) {
  if (hash == 0) return;
  append_varint(fixed64_tag(field), out);
  append_fixed(hash, out);
}

void append_bytes(uint32_t field, std::string_view bytes, std::string& out) {
  append_length_header(field, bytes.size(), out);
  out += bytes;
}

template <class T>
void append_varints(uint32_t field, const std::vector<T>& values, std::string& out) {
  if (values.empty()) return;
  size_t size = 0;
  for (const T value : values) size += varint_size(value);
  append_length_header(field, size, out);
  for (const T value : values) append_varint(value, out);
}

void append_fixed64s(uint32_t field, const std::vector<uint64_t>& values, std::string& out) {
  if (values.empty()) return;
  append_length_header(field, sizeof(uint64_t) * values.size(), out);
  for (const uint64_t value : values) append_fixed(value, out);
}

size_t varints_size(const std::vector<uint64_t>& values) {
  size_t size = 0;
  for (const uint64_t value : values) size += varint_size(value);
  return size;
}

// Returns the size of a serialised place. Appends the sizes of the place and of its inputs, in the
// order in which append_place() needs them.
size_t place_size(const PlanState& place, std::vector<size_t>& sizes, int depth) {
  if (depth >= kMaxStateDepth) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "a state of more than " + std::to_string(kMaxStateDepth - 1) +
                           " operators in a row can't be saved"});
  }
  const size_t index = sizes.size();
  sizes.push_back(0);
  size_t size = place.numbers.empty() ? 0 : field_size(varints_size(place.numbers));
  for (const PlanState& input : place.inputs) {
    size += field_size(place_size(input, sizes, depth + 1));
  }
  if (place.passed_over > 0) size += 1 + varint_size(place.passed_over);
  if (place.past_end > 0) size += 1 + varint_size(place.past_end);
  sizes[index] = size;
  return size;
}

void append_place(const PlanState& place, const size_t*& size, std::string& out) {
  ++size;
  append_varints(kNumbers, place.numbers, out);
  for (const PlanState& input : place.inputs) {
    append_length_header(kInputs, *size, out);
    append_place(input, size, out);
  }
  append_number(kPassedOver, place.passed_over, out);
  append_number(kPastEnd, place.past_end, out);
}

template <class T>
void read_varints(WireReader numbers, std::vector<T>& out) {
  while (!numbers.done()) out.push_back(static_cast<T>(numbers.read_varint()));
}

void read_fixed64s(WireReader numbers, std::vector<uint64_t>& out) {
  while (!numbers.done()) out.push_back(numbers.read_fixed64());
}

void read_place(WireReader message, PlanState& place) {
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    if (tag == length_delimited_tag(kNumbers)) {
      read_varints(message.read_packed(), place.numbers);
    } else if (tag == length_delimited_tag(kInputs)) {
      read_place(message.read_message(), place.inputs.emplace_back());
    } else if (tag == varint_tag(kPassedOver)) {
      place.passed_over = message.read_varint();
    } else if (tag == varint_tag(kPastEnd)) {
      place.past_end = message.read_varint();
    } else {
      message.skip(tag);
    }
  }
}

IteratorState read_state(WireReader message) {
  IteratorState state;
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    switch (tag) {
      case varint_tag(kVersion):
        state.version = static_cast<uint32_t>(message.read_varint());
        break;
      case fixed64_tag(kPlanHash):
        state.plan_hash = message.read_fixed64();
        break;
      case length_delimited_tag(kPlanText): {
        const auto text = message.read_bytes();
        state.plan_text.assign(reinterpret_cast<const char*>(text.data()), text.size());
        break;
      }
      case length_delimited_tag(kFileFingerprints):
        read_fixed64s(message.read_packed(), state.file_fingerprints);
        break;
      case varint_tag(kFilesPerFingerprint):
        state.files_per_fingerprint = static_cast<uint32_t>(message.read_varint());
        break;
      case length_delimited_tag(kPlace):
        read_place(message.read_message(), state.place);
        break;
      case varint_tag(kPosition):
        state.position = message.read_varint();
        break;
      case varint_tag(kEpoch):
        state.epoch = message.read_varint();
        break;
      case length_delimited_tag(kOpenedFiles):
        read_varints(message.read_packed(), state.opened_files);
        break;
      case length_delimited_tag(kInputFiles):
        read_fixed64s(message.read_packed(), state.input_files);
        break;
      case fixed64_tag(kOperatorsHash):
        state.operators_hash = message.read_fixed64();
        break;
      default:
        message.skip(tag);
    }
  }
  return state;
}

}  // namespace

std::string serialize(const IteratorState& state) {
  std::vector<size_t> sizes;
  const size_t place = place_size(state.place, sizes, 1);
  if (place > kMaxPlaceSize) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "a state of more than 1 GiB can't be saved",
                 .hint = "shuffle globally, or with a smaller buffer"});
  }
  std::string out;
  out.reserve(place + state.plan_text.size() + kRoom);
  append_number(kVersion, state.version, out);
  append_hash(kPlanHash, state.plan_hash, out);
  if (!state.plan_text.empty()) append_bytes(kPlanText, state.plan_text, out);
  append_fixed64s(kFileFingerprints, state.file_fingerprints, out);
  append_number(kFilesPerFingerprint, state.files_per_fingerprint, out);
  append_length_header(kPlace, place, out);
  const size_t* size = sizes.data();
  append_place(state.place, size, out);
  append_number(kPosition, state.position, out);
  append_number(kEpoch, state.epoch, out);
  append_varints(kOpenedFiles, state.opened_files, out);
  append_fixed64s(kInputFiles, state.input_files, out);
  append_hash(kOperatorsHash, state.operators_hash, out);
  const uint32_t crc = crc32c(std::as_bytes(std::span(out)));
  append_varint(kCrcTag, out);  // also if the CRC is 0, unlike libprotobuf
  append_fixed(crc, out);
  return out;
}

std::optional<ParsedIteratorState> parse_iterator_state(std::string_view serialized) {
  if (serialized.size() < kTailSize) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(serialized));
  const auto body = bytes.first(bytes.size() - kTailSize);
  const auto tail = bytes.last(kTailSize);
  const bool is_intact = tail[0] == std::byte{kCrcTag} &&
                         load_little_endian<uint32_t>(tail.data() + 1) == crc32c(body);
  try {
    return ParsedIteratorState{read_state(WireReader(bytes, kMaxStateDepth)), is_intact};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace recordpipe::internal
