// Iterates over the values of a feature without allocation, for long lists.
//
//     for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) { sum += value; });
//
//     ValueReader<FeatureKind::int64s> in_a(a), in_b(b);
//     while (const auto value = in_a.next()) { if (value != in_b.next()) ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {

// Calls visit(value) for each value in order: a span of bytes, a float or an int64_t. No calls if
// the feature has another kind.
template <FeatureKind kind, typename Visit>
void for_each_value(const FeatureView& feature, Visit visit) {
  if (feature.kind() != kind) return;
  const auto each_found = [&](auto on_value) {
    const auto in_piece = [&](WireReader piece) {
      read_values<kind>(
          piece, [] {},
          [&](auto value) {
            if constexpr (kind == FeatureKind::floats) {
              for (; !value.empty(); value = value.subspan(sizeof(float))) {
                on_value(load_float(value.data()));
              }
            } else {
              on_value(value);
            }
          });
    };
    if (feature.in_entry_) {
      read_entry_value(feature.encoded_, in_piece);
    } else {
      in_piece(WireReader(feature.encoded_));
    }
  };
  if (!feature.replaced_) {
    each_found(visit);
    return;
  }
  // A list of another kind replaced earlier values: skip these.
  size_t passed_over = 0;
  each_found([&](auto) { ++passed_over; });
  passed_over -= feature.size();
  each_found([&](auto value) {
    if (passed_over > 0) {
      --passed_over;
    } else {
      visit(value);
    }
  });
}

// Reads the same values one at a time, for example to read two features in parallel. Not
// thread-safe.
template <FeatureKind kind>
class ValueReader {
 public:
  using Value = std::conditional_t<kind == FeatureKind::bytes, std::span<const std::byte>,
                                   std::conditional_t<kind == FeatureKind::floats, float, int64_t>>;

  explicit ValueReader(const FeatureView& feature)
      : left_(feature.kind() == kind ? feature.size() : 0),
        entry_(feature.in_entry_ ? feature.encoded_ : std::span<const std::byte>()),
        feature_(feature.in_entry_ ? std::span<const std::byte>() : feature.encoded_) {
    if (left_ == 0 || !feature.replaced_) return;
    // A list of another kind replaced the first values: skip these.
    ValueReader all = *this;
    size_t count = 0;
    while (all.read()) ++count;
    for (; count > left_; --count) read();
  }

  // Returns the next value; nullopt after the last value.
  std::optional<Value> next() {
    if (left_ == 0) return std::nullopt;
    --left_;
    return read();
  }

 private:
  static std::optional<WireReader> message_in(WireReader& reader, uint32_t tag, uint32_t wanted) {
    if (tag == wanted) return reader.read_message();
    reader.skip(tag);
    return std::nullopt;
  }

  // Reads from the innermost message that has unread bytes: packed values, list, feature, entry.
  std::optional<Value> read() {
    while (true) {
      if (!packed_.done()) return read_packed();
      if (!list_.done()) {
        if (auto value = read_in_list()) return value;
      } else if (!feature_.done()) {
        constexpr uint32_t kField = kind == FeatureKind::bytes    ? kFeatureBytesList
                                    : kind == FeatureKind::floats ? kFeatureFloatList
                                                                  : kFeatureInt64List;
        const uint32_t tag = feature_.read_tag();
        if (auto list = message_in(feature_, tag, length_delimited_tag(kField))) list_ = *list;
      } else if (!entry_.done()) {
        const uint32_t tag = entry_.read_tag();
        if (auto piece = message_in(entry_, tag, length_delimited_tag(kEntryValue))) {
          feature_ = *piece;
        }
      } else {
        return std::nullopt;
      }
    }
  }

  Value read_packed() {
    if constexpr (kind == FeatureKind::int64s) {
      return static_cast<int64_t>(packed_.read_varint());
    } else if constexpr (kind == FeatureKind::floats) {
      return std::bit_cast<float>(packed_.read_fixed32());
    } else {
      return {};
    }
  }

  // Returns nullopt after the start of packed values and after a field that is not a value.
  std::optional<Value> read_in_list() {
    const uint32_t tag = list_.read_tag();
    if (tag == length_delimited_tag(kListValue)) {
      if constexpr (kind == FeatureKind::bytes) return list_.read_bytes();
      packed_ = list_.read_packed();
      return std::nullopt;
    }
    if constexpr (kind == FeatureKind::int64s) {
      if (tag == wire_tag(kListValue, WireType::varint)) {
        return static_cast<int64_t>(list_.read_varint());
      }
    }
    if constexpr (kind == FeatureKind::floats) {
      if (tag == wire_tag(kListValue, WireType::fixed32)) {
        return std::bit_cast<float>(list_.read_fixed32());
      }
    }
    list_.skip(tag);
    return std::nullopt;
  }

  size_t left_;
  WireReader entry_;
  WireReader feature_;
  WireReader list_{std::span<const std::byte>()};
  WireReader packed_{std::span<const std::byte>()};
};

}  // namespace recordpipe
