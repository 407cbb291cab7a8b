// Parses the parts of a serialised Example: lists of values, Features, map entries.
//
// A message may be split into several pieces, which protobuf merges: the values of a list are
// appended, a list of another kind replaces the list before it (a oneof), and if several map
// entries have the same key, the last one wins. The functions here read single pieces; the visitors
// of the caller merge the pieces.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/example/internal/feature_size.h"
#include "recordpipe/example/internal/plain_entry.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {

// Returns a reader of a serialised Example or SequenceExample. Throws Error{limit_exceeded} for
// 2 GiB or more (protobuf's sizes are ints).
inline WireReader read_example(std::span<const std::byte> example) {
  if (example.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw Error({.kind = ErrorKind::limit_exceeded, .reason = "an Example of 2 GiB or more"});
  }
  return WireReader(example);
}

// What is called for fields that a message lacks, by default.
struct SkipSilently {
  void operator()() const {}
};

// Calls visit(message) for each message in `field`; skips all other fields, and calls on_other()
// for each.
template <typename Visit, typename OnOther = SkipSilently>
void read_messages(WireReader reader, uint32_t field, Visit visit, OnOther on_other = {}) {
  while (!reader.done()) {
    const uint32_t tag = reader.read_tag();
    if (tag == length_delimited_tag(field)) {
      visit(reader.read_message());
    } else {
      on_other();
      reader.skip(tag);
    }
  }
}

// Calls visit for the values of a list: with a span per bytes value, with an int64_t per int64, and
// with spans of one or more little-endian floats; and on_other() for any other field.
template <FeatureKind kind, typename Visit, typename OnOther = SkipSilently>
void read_list(WireReader list, Visit visit, OnOther on_other = {}) {
  while (!list.done()) {
    const uint32_t tag = list.read_tag();
    if (tag == length_delimited_tag(kListValue)) {
      if constexpr (kind == FeatureKind::int64s) {
        for (WireReader packed = list.read_packed(); !packed.done();) {
          visit(static_cast<int64_t>(packed.read_varint()));
        }
      } else {
        const std::span<const std::byte> value = list.read_bytes();
        if (kind == FeatureKind::floats && value.size() % sizeof(float) != 0) {
          list.fail("packed floats of a size that is no multiple of 4");
        }
        visit(value);
      }
    } else if (kind == FeatureKind::int64s && tag == wire_tag(kListValue, WireType::varint)) {
      if constexpr (kind == FeatureKind::int64s) visit(static_cast<int64_t>(list.read_varint()));
    } else if (kind == FeatureKind::floats && tag == wire_tag(kListValue, WireType::fixed32)) {
      const std::span<const std::byte> value = list.rest();
      list.read_fixed32();
      if constexpr (kind == FeatureKind::floats) visit(value.first(sizeof(float)));
    } else {
      on_other();
      list.skip(tag);
    }
  }
}

inline float load_float(const std::byte* from) {
  return std::bit_cast<float>(load_little_endian<uint32_t>(from));
}

// Calls visit(kind, list) for each list of a Feature, in order, and on_other() for any other field.
template <typename Visit, typename OnOther = SkipSilently>
void read_feature(WireReader feature, Visit visit, OnOther on_other = {}) {
  while (!feature.done()) {
    const uint32_t tag = feature.read_tag();
    switch (tag) {
      case length_delimited_tag(kFeatureBytesList):
        visit(FeatureKind::bytes, feature.read_message());
        break;
      case length_delimited_tag(kFeatureFloatList):
        visit(FeatureKind::floats, feature.read_message());
        break;
      case length_delimited_tag(kFeatureInt64List):
        visit(FeatureKind::int64s, feature.read_message());
        break;
      default:
        on_other();
        feature.skip(tag);
    }
  }
}

// Calls visit(...) like read_list, for the values of all lists of `kind` in the feature. Calls
// restart() at a list of another kind, which replaces the values visited before.
template <FeatureKind kind, typename Restart, typename Visit>
void read_values(WireReader feature, Restart restart, Visit visit) {
  read_feature(feature, [&](FeatureKind list_kind, WireReader list) {
    if (list_kind == kind) {
      read_list<kind>(list, visit);
    } else {
      restart();
    }
  });
}

// Calls on_value(message) for each piece of a map entry's value, on_key(key) for each key, and
// on_other() for any other field.
template <typename OnKey, typename OnValue, typename OnOther = SkipSilently>
void read_entry(WireReader entry, OnKey on_key, OnValue on_value, OnOther on_other = {}) {
  while (!entry.done()) {
    const uint32_t tag = entry.read_tag();
    if (tag == length_delimited_tag(kEntryKey)) {
      const auto key = entry.read_bytes();
      on_key(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
    } else if (tag == length_delimited_tag(kEntryValue)) {
      on_value(entry.read_message());
    } else {
      on_other();
      entry.skip(tag);
    }
  }
}

// The same for an entry whose key is not needed.
template <typename OnValue>
void read_entry_value(std::span<const std::byte> entry, OnValue on_value) {
  read_entry(
      WireReader(entry), [](std::string_view) {}, on_value);
}

// Validates a map entry and returns its key: the last key if there are several, "" if there is
// none. `on_value` must read every byte of its message.
template <typename OnValue, typename OnOther = SkipSilently>
std::string_view check_entry(WireReader entry, OnValue on_value, OnOther on_other = {}) {
  std::string_view last_key;
  read_entry(
      entry,
      [&](std::string_view key) {
        if (!is_utf8(key)) entry.fail("a key that is not UTF-8");
        last_key = key;
      },
      on_value, on_other);
  return last_key;
}

inline void FeatureSize::add(WireReader piece) {
  const auto on_other = [&] { has_other = true; };
  const auto on_list = [&](FeatureKind list_kind, WireReader list) {
    if (list_kind != kind) {
      *this = {.kind = list_kind,
               .replaced = kind != FeatureKind::none,
               .has_other = has_other || kind != FeatureKind::none};
    }
    if (kind == FeatureKind::bytes) {
      const auto visit = [&](std::span<const std::byte> value) {
        ++values;
        bytes += value.size();
        last = value;
      };
      read_list<FeatureKind::bytes>(list, visit, on_other);
    } else if (kind == FeatureKind::floats) {
      const auto visit = [&](std::span<const std::byte> packed) {
        values += packed.size() / sizeof(float);
        if (!packed.empty()) last = packed.last(sizeof(float));
      };
      read_list<FeatureKind::floats>(list, visit, on_other);
    } else {
      const auto visit = [&](int64_t value) {
        ++values;
        last_int64 = value;
      };
      read_list<FeatureKind::int64s>(list, visit, on_other);
    }
  };
  read_feature(piece, on_list, on_other);
}

// Returns nullopt if the values are not valid.
inline std::optional<FeatureSize> measure(const PlainFeature& feature) {
  const auto count = count_values(feature);
  if (!count) return std::nullopt;
  FeatureSize size{.kind = feature.kind, .values = *count};
  if (feature.kind == FeatureKind::bytes) {
    size.bytes = feature.values.size();
    size.last = feature.values;
  } else if (feature.kind == FeatureKind::floats && *count > 0) {
    size.last = feature.values.last(sizeof(float));
  } else if (*count == 1) {
    WireReader value(feature.values);
    size.last_int64 = static_cast<int64_t>(value.read_varint());
  }
  return size;
}

// Reads the entries of a Features message, and validates every byte of it. If several entries have
// the same key, the last one wins.
//
// Calls on_plain(PlainEntry) for an entry in the usual encoding. It must validate the values, and
// the key unless it knows it, and returns whether it has taken the entry. For every other entry,
// calls on_entry(key, entry, size), and on_other() for a field of Features that is no entry, or of
// an entry that is no key or value.
template <typename OnPlain, typename OnEntry, typename OnOther = SkipSilently>
void read_entries(WireReader features, OnPlain on_plain, OnEntry on_entry, OnOther on_other = {}) {
  while (true) {
    GlanceReader glance(features.rest());
    PlainEntry plain;
    for (GlanceReader next = glance; read_plain_entry(next, plain) && on_plain(plain);) {
      glance = next;
    }
    features.skip_to_last(glance.rest().size());
    if (features.done()) return;

    const uint32_t tag = features.read_tag();
    if (tag != length_delimited_tag(kFeaturesEntry)) {
      on_other();
      features.skip(tag);
      continue;
    }
    const WireReader entry = features.read_message();
    FeatureSize size;
    const std::string_view key = check_entry(
        entry, [&](WireReader piece) { size.add(piece); }, on_other);
    on_entry(key, entry.rest(), size);
  }
}

// Calls visit(key, entry, size) for each entry.
template <typename Visit>
void read_features(WireReader features, Visit visit) {
  const auto on_plain = [&](const PlainEntry& plain) {
    const auto size = measure(plain.feature);
    if (!size || !is_utf8(plain.key)) return false;
    visit(plain.key, plain.entry, *size);
    return true;
  };
  read_entries(features, on_plain, visit);
}

}  // namespace recordpipe
