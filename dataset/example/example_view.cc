#include "dataset/example/example_view.h"

#include "dataset/example/feature_reader.h"

namespace recordpipe {
namespace {

// Calls visit(value) for each value of the entry's feature if it is of `kind`; restart() as in
// feature_reader.h's read_values.
template <FeatureKind kind, typename Restart, typename Visit>
void read_entry_values(std::span<const std::byte> entry, Restart restart, Visit visit) {
  read_entry_value(entry, [&](WireReader feature) {
    if constexpr (kind == FeatureKind::floats) {
      read_values<kind>(feature, restart, [&](std::span<const std::byte> packed) {
        for (; !packed.empty(); packed = packed.subspan(sizeof(float))) {
          visit(load_float(packed.data()));
        }
      });
    } else {
      read_values<kind>(feature, restart, visit);
    }
  });
}

template <FeatureKind kind, typename Value>
std::optional<Value> single_value(std::span<const std::byte> entry) {
  size_t count = 0;
  Value last{};
  read_entry_values<kind>(
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
  read_entry_values<kind>(
      entry, [&] { values.clear(); }, [&](Value value) { values.push_back(value); });
  return values;
}

}  // namespace

FeatureKind FeatureView::kind() const {
  FeatureKind last = FeatureKind::none;
  read_entry_value(entry_, [&](WireReader feature) {
    read_feature(feature, [&](FeatureKind kind, WireReader) { last = kind; });
  });
  return last;
}

size_t FeatureView::size() const {
  FeatureSize size;
  read_entry_value(entry_, [&](WireReader feature) { size.add(feature); });
  return size.values;
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
  std::optional<FeatureView> found;
  for_each_feature(example, [&](std::string_view key, FeatureView feature) {
    if (key == name) found = feature;
  });
  return found;
}

void for_each_feature(
    std::span<const std::byte> example,
    const std::function<void(std::string_view name, FeatureView feature)>& visit) {
  read_messages(read_example(example), kExampleFeatures, [&](WireReader features) {
    read_features(features, [&](std::string_view key, std::span<const std::byte> entry,
                                const FeatureSize&) { visit(key, FeatureView(entry)); });
  });
}

}  // namespace recordpipe
