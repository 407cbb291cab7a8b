#include "recordpipe/toolkit/message_diff.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dataset/toolkit/names.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestShownValue = 60;

// Collects the first characters of a JSON text and drops the rest.
class Beginning {
 public:
  JsonText& json() { return json_; }
  std::string take() {
    add(json_.text());
    if (text_.size() <= kLongestShownValue) return std::move(text_);
    size_t end = kLongestShownValue;
    while (end > 0 && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) --end;
    return text_.substr(0, end) + "...";
  }

 private:
  void add(std::string_view more) {
    if (text_.size() <= kLongestShownValue) text_ += more;
  }

  std::string text_;
  JsonText json_{[this](std::string_view more) { add(more); }};
};

std::string shown(const FeatureView& feature) {
  if (feature.kind() == FeatureKind::none) return "nothing";
  Beginning beginning;
  beginning.json().values(feature);
  return beginning.take();
}

std::string kind_name(FeatureKind kind) {
  return kind == FeatureKind::none ? "none" : std::string(json_kind(kind));
}

bool near(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
}

// Computes the distance as an integer, because double can't represent every int64.
bool near(int64_t a, int64_t b, double tolerance) {
  if (a == b) return true;
  const uint64_t distance = a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                                  : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
  return static_cast<double>(distance) <= tolerance;
}

void append(std::span<const std::byte> value, JsonText& json) { json.bytes(value); }
void append(float value, JsonText& json) { json.number(value); }
void append(int64_t value, JsonText& json) { json.number(value); }

// Returns whether `value` is text that is short enough to be shown in full.
bool is_short_text(std::span<const std::byte> value) {
  return value.size() + 4 <= kLongestShownValue && is_text(value);
}

std::string at_place(size_t i) { return "[" + std::to_string(i) + "]: "; }

// Shows only value `i` if the feature has several values.
template <typename Value>
std::string shown(const FeatureView& feature, size_t i, Value value) {
  if (feature.size() == 1) return shown(feature);
  Beginning beginning;
  append(value, beginning.json());
  return at_place(i) + beginning.take();
}

// Describes the difference between two byte strings.
FeatureDifference compare_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto first = std::ranges::mismatch(a, b).in1 - a.begin();
  return {.what = "bytes",
          .a = counted(a.size(), "byte"),
          .b = counted(b.size(), "byte"),
          .first_byte = static_cast<uint64_t>(first)};
}

// Describes the difference at index `i` between two features with the same number of values.
template <typename Value>
FeatureDifference difference_of(const FeatureView& a, const FeatureView& b, size_t i, Value x,
                                Value y) {
  if constexpr (std::is_same_v<Value, std::span<const std::byte>>) {
    if (!is_short_text(x) || !is_short_text(y)) {
      FeatureDifference difference = compare_bytes(x, y);
      if (a.size() > 1) {
        difference.a.insert(0, at_place(i));
        difference.b.insert(0, at_place(i));
      }
      return difference;
    }
  }
  return {.a = shown(a, i, x), .b = shown(b, i, y)};
}

template <FeatureKind kind, typename Same>
std::optional<FeatureDifference> first_difference(const FeatureView& a, const FeatureView& b,
                                                  Same same) {
  ValueReader<kind> in_a(a);
  ValueReader<kind> in_b(b);
  for (size_t i = 0;; ++i) {
    const auto x = in_a.next();
    const auto y = in_b.next();
    if (!x || !y) return std::nullopt;
    if (!same(*x, *y)) return difference_of(a, b, i, *x, *y);
  }
}

std::optional<FeatureDifference> first_difference(const FeatureView& a, const FeatureView& b,
                                                  double tolerance) {
  switch (a.kind()) {
    case FeatureKind::bytes:
      return first_difference<FeatureKind::bytes>(
          a, b, [](auto x, auto y) { return std::ranges::equal(x, y); });
    case FeatureKind::floats:
      return first_difference<FeatureKind::floats>(
          a, b, [&](float x, float y) { return near(double{x}, double{y}, tolerance); });
    case FeatureKind::int64s:
      return first_difference<FeatureKind::int64s>(
          a, b, [&](int64_t x, int64_t y) { return near(x, y, tolerance); });
    case FeatureKind::none:
      break;
  }
  return std::nullopt;
}

class Comparison {
 public:
  explicit Comparison(double tolerance) : tolerance_(tolerance) {}

  std::vector<FeatureDifference> take() { return std::move(differences_); }

  void add(std::string_view name, std::string what, std::string a, std::string b) {
    differences_.push_back({std::string(name), std::move(what), std::move(a), std::move(b)});
  }

  void compare(std::string_view name, const FeatureView& a, const FeatureView& b) {
    if (a.kind() != b.kind()) {
      add(name, "kind", kind_name(a.kind()), kind_name(b.kind()));
    } else if (a.size() != b.size()) {
      add(name, "count", counted(a.size(), "value"), counted(b.size(), "value"));
    } else if (auto difference = first_difference(a, b, tolerance_)) {
      difference->feature = name;
      difference->what = "values";
      differences_.push_back(std::move(*difference));
    }
  }

  void compare(std::string_view name, const FeatureListView& a, const FeatureListView& b) {
    if (a.size() != b.size()) {
      add(name, "count", counted(a.size(), "step"), counted(b.size(), "step"));
      return;
    }
    const std::vector<FeatureView> other = steps_of(b);
    size_t i = 0;
    a.for_each_step([&](const FeatureView& step) {
      compare(std::string(name) + ", step " + std::to_string(i), step, other[i]);
      ++i;
    });
  }

  // `a` and `b` must be sorted by name.
  template <typename Items, typename NameOf, typename Compare, typename Show>
  void compare_sorted(const Items& a, const Items& b, NameOf name_of, Compare compare_two,
                      Show show) {
    auto in_a = a.begin();
    auto in_b = b.begin();
    while (in_a != a.end() || in_b != b.end()) {
      if (in_b == b.end() || (in_a != a.end() && name_of(*in_a) < name_of(*in_b))) {
        add(name_of(*in_a), "only in A", show(*in_a), "");
        ++in_a;
      } else if (in_a == a.end() || name_of(*in_b) < name_of(*in_a)) {
        add(name_of(*in_b), "only in B", "", show(*in_b));
        ++in_b;
      } else {
        compare_two(*in_a++, *in_b++);
      }
    }
  }

 private:
  static std::vector<FeatureView> steps_of(const FeatureListView& list) {
    std::vector<FeatureView> steps;
    list.for_each_step([&](const FeatureView& step) { steps.push_back(step); });
    return steps;
  }

  const double tolerance_;
  std::vector<FeatureDifference> differences_;
};

}  // namespace

std::vector<FeatureDifference> compare_records(const ComparedRecord& record_a,
                                               const ComparedRecord& record_b, double tolerance) {
  const MessageView& a = record_a.message;
  const MessageView& b = record_b.message;
  Comparison comparison(tolerance);
  // What the features don't cover is compared by its bytes.
  const bool is_covered = a.has_features() && !a.unread() && !b.unread();
  if (a.kind() != b.kind()) {
    comparison.add("", "kind", std::string(to_string(a.kind())), std::string(to_string(b.kind())));
  } else if (!is_covered) {
    return {compare_bytes(record_a.data, record_b.data)};
  } else {
    comparison.compare_sorted(
        a.features(), b.features(), [](const NamedFeature& f) { return f.name; },
        [&](const NamedFeature& x, const NamedFeature& y) {
          comparison.compare(x.name, x.feature, y.feature);
        },
        [](const NamedFeature& f) { return shown(f.feature); });
    comparison.compare_sorted(
        a.feature_lists(), b.feature_lists(), [](const FeatureListView& l) { return l.name(); },
        [&](const FeatureListView& x, const FeatureListView& y) {
          comparison.compare(x.name(), x, y);
        },
        [](const FeatureListView& l) { return counted(l.size(), "step"); });
  }
  std::vector<FeatureDifference> differences = comparison.take();
  // A list's features don't tell how many Examples without any of them there are.
  if (differences.empty() && a.kind() == MessageKind::example_list) {
    return {compare_bytes(record_a.data, record_b.data)};
  }
  return differences;
}

}  // namespace recordpipe
