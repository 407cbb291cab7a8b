#include "dataset/example/example_view.h"

#include <bit>
#include <limits>

#include "dataset/base/error.h"
#include "dataset/base/utf8.h"
#include "dataset/example/wire_format.h"
#include "dataset/example/wire_reader.h"

namespace recordpipe {
namespace {

constexpr uint32_t length_delimited_tag(uint32_t field) {
  return wire_tag(field, WireType::length_delimited);
}

FeatureKind kind_of_list(uint32_t tag) {
  switch (tag) {
    case length_delimited_tag(kFeatureBytesList):
      return FeatureKind::bytes;
    case length_delimited_tag(kFeatureFloatList):
      return FeatureKind::floats;
    case length_delimited_tag(kFeatureInt64List):
      return FeatureKind::int64s;
    default:
      return FeatureKind::none;
  }
}

// The readers of one list call visit(value) for each of its values.
template <typename Visit>
void read_bytes_list(WireReader list, Visit visit) {
  while (!list.done()) {
    const uint32_t tag = list.read_tag();
    if (tag == length_delimited_tag(kListValue)) {
      visit(list.read_bytes());
    } else {
      list.skip(tag);
    }
  }
}

template <typename Visit>
void read_int64_list(WireReader list, Visit visit) {
  while (!list.done()) {
    const uint32_t tag = list.read_tag();
    if (tag == length_delimited_tag(kListValue)) {
      for (WireReader packed = list.read_packed(); !packed.done();) {
        visit(static_cast<int64_t>(packed.read_varint()));
      }
    } else if (tag == wire_tag(kListValue, WireType::varint)) {
      visit(static_cast<int64_t>(list.read_varint()));
    } else {
      list.skip(tag);
    }
  }
}

template <typename Visit>
void read_float_list(WireReader list, Visit visit) {
  while (!list.done()) {
    const uint32_t tag = list.read_tag();
    if (tag == length_delimited_tag(kListValue)) {
      for (WireReader packed = list.read_packed(); !packed.done();) {
        visit(std::bit_cast<float>(packed.read_fixed32()));
      }
    } else if (tag == wire_tag(kListValue, WireType::fixed32)) {
      visit(std::bit_cast<float>(list.read_fixed32()));
    } else {
      list.skip(tag);
    }
  }
}

// Calls visit(kind, list) for each list of a Feature, in order. A list of the kind before goes on
// with it; one of another kind replaces it (protobuf's oneof).
template <typename Visit>
void read_feature(WireReader feature, Visit visit) {
  while (!feature.done()) {
    const uint32_t tag = feature.read_tag();
    const FeatureKind kind = kind_of_list(tag);
    if (kind == FeatureKind::none) {
      feature.skip(tag);
    } else {
      visit(kind, feature.read_message());
    }
  }
}

// The same for the value of a map entry; on_key(key) for each key in it.
template <typename OnKey, typename Visit>
void read_entry(WireReader entry, OnKey on_key, Visit visit) {
  while (!entry.done()) {
    const uint32_t tag = entry.read_tag();
    if (tag == length_delimited_tag(kEntryKey)) {
      const auto key = entry.read_bytes();
      on_key(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
    } else if (tag == length_delimited_tag(kEntryValue)) {
      read_feature(entry.read_message(), visit);
    } else {
      entry.skip(tag);
    }
  }
}

// Calls visit(value) for each value of the entry's feature if it is of `kind`, and restart() where
// the values visited so far don't count, for another kind has replaced them.
template <FeatureKind kind, typename Restart, typename Visit>
void read_values(std::span<const std::byte> entry, Restart restart, Visit visit) {
  const auto on_list = [&](FeatureKind list_kind, WireReader list) {
    if (list_kind != kind) {
      restart();
    } else if constexpr (kind == FeatureKind::bytes) {
      read_bytes_list(list, visit);
    } else if constexpr (kind == FeatureKind::floats) {
      read_float_list(list, visit);
    } else {
      read_int64_list(list, visit);
    }
  };
  read_entry(
      WireReader(entry), [](std::string_view) {}, on_list);
}

template <FeatureKind kind, typename Value>
std::optional<Value> single_value(std::span<const std::byte> entry) {
  size_t count = 0;
  Value last{};
  read_values<kind>(
      entry, [&] { count = 0; },
      [&](Value value) {
        ++count;
        last = value;
      });
  return count == 1 ? std::optional(last) : std::nullopt;
}

template <FeatureKind kind, typename Value>
std::vector<Value> all_values(std::span<const std::byte> entry) {
  std::vector<Value> values;
  read_values<kind>(
      entry, [&] { values.clear(); }, [&](Value value) { values.push_back(value); });
  return values;
}

template <FeatureKind kind>
size_t count_values(std::span<const std::byte> entry) {
  size_t count = 0;
  read_values<kind>(
      entry, [&] { count = 0; }, [&](auto) { ++count; });
  return count;
}

// Walks every byte of a list, for the errors.
void check_list(FeatureKind kind, WireReader list) {
  const auto ignore = [](auto) {};
  if (kind == FeatureKind::bytes) read_bytes_list(list, ignore);
  if (kind == FeatureKind::floats) read_float_list(list, ignore);
  if (kind == FeatureKind::int64s) read_int64_list(list, ignore);
}

// Checks a map entry and returns its key: the last one of several, "" where there is none.
std::string_view check_entry(WireReader entry) {
  std::string_view last_key;
  read_entry(
      entry,
      [&](std::string_view key) {
        if (!is_utf8(key)) entry.fail("a key that is not UTF-8");
        last_key = key;
      },
      check_list);
  return last_key;
}

}  // namespace

FeatureKind FeatureView::kind() const {
  FeatureKind last = FeatureKind::none;
  read_entry(
      WireReader(entry_), [](std::string_view) {},
      [&](FeatureKind kind, WireReader) { last = kind; });
  return last;
}

size_t FeatureView::size() const {
  switch (kind()) {
    case FeatureKind::bytes:
      return count_values<FeatureKind::bytes>(entry_);
    case FeatureKind::floats:
      return count_values<FeatureKind::floats>(entry_);
    case FeatureKind::int64s:
      return count_values<FeatureKind::int64s>(entry_);
    case FeatureKind::none:
      break;
  }
  return 0;
}

std::optional<std::span<const std::byte>> FeatureView::single_bytes() const {
  return single_value<FeatureKind::bytes, std::span<const std::byte>>(entry_);
}

std::optional<int64_t> FeatureView::single_int64() const {
  return single_value<FeatureKind::int64s, int64_t>(entry_);
}

std::optional<float> FeatureView::single_float() const {
  return single_value<FeatureKind::floats, float>(entry_);
}

std::vector<std::span<const std::byte>> FeatureView::bytes_values() const {
  return all_values<FeatureKind::bytes, std::span<const std::byte>>(entry_);
}

std::vector<int64_t> FeatureView::int64_values() const {
  return all_values<FeatureKind::int64s, int64_t>(entry_);
}

std::vector<float> FeatureView::float_values() const {
  return all_values<FeatureKind::floats, float>(entry_);
}

std::optional<FeatureView> find_feature(std::span<const std::byte> example, std::string_view name) {
  if (example.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw Error({.kind = ErrorKind::limit_exceeded, .reason = "an Example of 2 GiB or more"});
  }
  std::optional<FeatureView> found;
  WireReader message(example);
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    if (tag != length_delimited_tag(kExampleFeatures)) {
      message.skip(tag);
      continue;
    }
    WireReader features = message.read_message();
    while (!features.done()) {
      const uint32_t features_tag = features.read_tag();
      if (features_tag != length_delimited_tag(kFeaturesEntry)) {
        features.skip(features_tag);
        continue;
      }
      const WireReader entry = features.read_message();
      if (check_entry(entry) == name) found = FeatureView(entry.rest());
    }
  }
  return found;
}

}  // namespace recordpipe
