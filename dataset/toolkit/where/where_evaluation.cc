#include "dataset/toolkit/where/where_evaluation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "dataset/example/nearest_float.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/example/feature_values.h"

namespace recordpipe {
namespace {

using Function = Where::Condition::Function;
using ConditionKind = Where::Condition::Kind;
using Operator = Where::Condition::Operator;
using Subject = Where::Condition::Subject;

// Returns -1, 0 or 1 if a is less than, equal to or greater than b. Exact for all values.
int compare(int64_t a, double b) {
  constexpr double kTooLarge = 9223372036854775808.0;  // 2^63
  if (b >= kTooLarge) return -1;
  if (b < -kTooLarge) return 1;
  const double whole = std::trunc(b);
  const auto rounded = static_cast<int64_t>(whole);
  if (a != rounded) return a < rounded ? -1 : 1;
  return whole < b ? -1 : whole > b ? 1 : 0;
}

// The same.
int compare(uint64_t a, double b) {
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64
  if (a <= INT64_MAX) return compare(static_cast<int64_t>(a), b);
  if (b >= kTooLarge) return -1;
  if (b < kTooLarge / 2) return 1;
  const auto other = static_cast<uint64_t>(b);  // doubles of this size are whole
  return a < other ? -1 : a > other ? 1 : 0;
}

int compare(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int compare(std::string_view a, std::string_view b) {
  const int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::string_view as_text(std::span<const std::byte> value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

bool fits(int order, Operator how) {
  switch (how) {
    case Operator::equal:
      return order == 0;
    case Operator::not_equal:
      return order != 0;
    case Operator::less:
      return order < 0;
    case Operator::less_or_equal:
      return order <= 0;
    case Operator::greater:
      return order > 0;
    case Operator::greater_or_equal:
      return order >= 0;
  }
  return false;
}

// Compares a value with a literal of a comparable kind; returns false for another.
bool fits(int64_t value, Operator how, const WhereLiteral& literal) {
  if (const auto* number = std::get_if<int64_t>(&literal))
    return fits(compare(value, *number), how);
  if (const auto* number = std::get_if<double>(&literal)) return fits(compare(value, *number), how);
  return std::holds_alternative<uint64_t>(literal) && fits(-1, how);
}

bool fits(uint64_t value, Operator how, const WhereLiteral& literal) {
  if (value <= INT64_MAX) return fits(static_cast<int64_t>(value), how, literal);
  if (const auto* large = std::get_if<uint64_t>(&literal)) {
    return fits(value < *large ? -1 : value > *large ? 1 : 0, how);
  }
  if (const auto* number = std::get_if<double>(&literal)) return fits(compare(value, *number), how);
  return std::holds_alternative<int64_t>(literal) && fits(1, how);
}

bool fits(double value, Operator how, const WhereLiteral& literal) {
  if (std::holds_alternative<std::string>(literal)) return false;
  if (std::isnan(value)) return how == Operator::not_equal;
  if (const auto* whole = std::get_if<int64_t>(&literal)) return fits(-compare(*whole, value), how);
  if (const auto* large = std::get_if<uint64_t>(&literal)) {
    return fits(-compare(*large, value), how);
  }
  const double other = std::get<double>(literal);
  return fits(value < other ? -1 : value > other ? 1 : 0, how);
}

// Rounds `number` to float, unless it is out of the range of float.
double rounded(double number) {
  const auto nearest = nearest_float(number);
  return nearest ? *nearest : number;
}

bool fits(float value, Operator how, const WhereLiteral& literal) {
  double other = 0;
  if (const auto* whole = std::get_if<int64_t>(&literal)) {
    other = static_cast<float>(*whole);
  } else if (const auto* large = std::get_if<uint64_t>(&literal)) {
    other = static_cast<float>(*large);
  } else if (const auto* number = std::get_if<double>(&literal)) {
    other = rounded(*number);
  } else {
    return false;
  }
  if (std::isnan(value)) return how == Operator::not_equal;
  return fits(value < other ? -1 : value > other ? 1 : 0, how);
}

bool fits(std::span<const std::byte> value, Operator how, const WhereLiteral& literal) {
  const auto* text = std::get_if<std::string>(&literal);
  return text != nullptr && fits(compare(as_text(value), *text), how);
}

bool is_comparable(std::span<const std::byte>, const WhereLiteral& literal) {
  return std::holds_alternative<std::string>(literal);
}
template <typename Number>
bool is_comparable(Number, const WhereLiteral& literal) {
  return !std::holds_alternative<std::string>(literal);
}

// Whether a value satisfies a comparison. `x not in [1, "a"]` compares numbers with 1 only.
template <typename Value>
bool value_fits(Value value, const Where::Condition& condition) {
  const auto fits_one = [&](const WhereLiteral& literal) {
    return fits(value, condition.how, literal);
  };
  if (condition.how != Operator::not_equal) {
    return std::ranges::any_of(condition.literals, fits_one);
  }
  const auto is_other = [&](const WhereLiteral& literal) { return !is_comparable(value, literal); };
  const size_t others = std::ranges::count_if(condition.literals, is_other);
  const size_t fitting = std::ranges::count_if(condition.literals, fits_one);
  return others < condition.literals.size() && fitting + others == condition.literals.size();
}

bool returns_true(std::string_view text, const Where::Condition& condition) {
  const std::string& argument = std::get<std::string>(condition.literals.front());
  switch (condition.function) {
    case Function::startswith:
      return text.starts_with(argument);
    case Function::endswith:
      return text.ends_with(argument);
    case Function::contains:
      return text.find(argument) != text.npos;
    case Function::matches:
      return condition.regex->found_in(text);
  }
  return false;
}

bool some_value_fits(const FeatureView& feature, const Where::Condition& condition) {
  bool found = false;
  if (condition.kind == ConditionKind::function) {
    for_each_value<FeatureKind::bytes>(
        feature, [&](auto value) { found = found || returns_true(as_text(value), condition); });
    return found;
  }
  const auto look = [&](auto value) { found = found || value_fits(value, condition); };
  for_each_value<FeatureKind::int64s>(feature, look);
  for_each_value<FeatureKind::floats>(feature, look);
  for_each_value<FeatureKind::bytes>(feature, look);
  return found;
}

void note(const Where::Condition& condition, const FeatureView* feature,
          const FeatureListView* list) {
  if (feature != nullptr) {
    note_kind(condition, feature->kind());
  } else if (list != nullptr) {
    note_kind(condition, FeatureKind::none);  // kinds of steps: noted when compared
  }
}

// nullopt if the feature has no exact numbers.
std::optional<bool> exact_comparison_holds(const Where::ExactNumbers& exact,
                                           const Where::Condition& condition) {
  const auto look = [&](const auto& numbers, FeatureKind kind) -> std::optional<bool> {
    const auto found = numbers.find(condition.name);
    if (found == numbers.end()) return std::nullopt;
    note_kind(condition, kind);
    return std::ranges::any_of(found->second,
                               [&](auto number) { return value_fits(number, condition); });
  };
  if (condition.kind != ConditionKind::comparison) return std::nullopt;
  const auto holds = look(exact.doubles, FeatureKind::floats);
  return holds ? holds : look(exact.uint64s, FeatureKind::int64s);
}

bool comparison_holds(const WhereRecord& of, const Where::Condition& condition) {
  const auto exact = of.exact ? exact_comparison_holds(*of.exact, condition) : std::nullopt;
  if (exact) return *exact;
  const MessageView& record = of.message;
  const FeatureView* const feature = record.find_feature(condition.name);
  const FeatureListView* const list = record.find_feature_list(condition.name);
  note(condition, feature, list);
  if (feature != nullptr) return some_value_fits(*feature, condition);
  bool found = false;
  if (list != nullptr) {
    list->for_each_step([&](const FeatureView& step) {
      note_kind(condition, step.kind());
      found = found || some_value_fits(step, condition);
    });
  }
  return found;
}

bool length_fits(const MessageView& record, const Where::Condition& condition) {
  const FeatureView* feature = record.find_feature(condition.name);
  const FeatureListView* list = record.find_feature_list(condition.name);
  note(condition, feature, list);
  if (feature == nullptr && list == nullptr) return false;
  const size_t length = feature != nullptr ? feature->size() : list->size();
  return value_fits(static_cast<int64_t>(length), condition);
}

bool any_feature_fits(const MessageView& message, const Where::Condition& condition) {
  bool found = false;
  for (const auto& [name, feature] : message.features()) {
    if (some_value_fits(feature, condition)) return true;
  }
  for (const FeatureListView& list : message.feature_lists()) {
    list.for_each_step(
        [&](const FeatureView& step) { found = found || some_value_fits(step, condition); });
  }
  return found;
}

bool number_fits(uint64_t number, const Where::Condition& condition) {
  return value_fits(static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX)), condition);
}

bool path_fits(std::string_view path, const Where::Condition& condition) {
  if (condition.kind == ConditionKind::function) return returns_true(path, condition);
  return value_fits(std::as_bytes(std::span(path)), condition);
}

// Compares a fact about the record.
bool fact_fits(const NumberedRecord* record, const Where::Condition& condition) {
  if (record == nullptr) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a where expression uses " + condition.name +
                           ", but only the record's message is known"});
  }
  if (condition.subject == Subject::record_size) {
    return number_fits(record->data.size(), condition);
  }
  if (condition.subject == Subject::record_number) return number_fits(record->number, condition);
  return is_http_url(record->path) ? path_fits(without_secrets(record->path), condition)
                                   : path_fits(record->path, condition);
}

bool has(const MessageView& record, std::string_view name) {
  const FeatureView* feature = record.find_feature(name);
  if (feature != nullptr) return feature->kind() != FeatureKind::none;
  return record.find_feature_list(name) != nullptr;
}

}  // namespace

bool holds(const WhereRecord& of, const Where::Condition& condition) {
  const auto part_holds = [&](const Where::Condition& part) { return holds(of, part); };
  if (condition.subject == Subject::any_feature) return any_feature_fits(of.message, condition);
  if (condition.subject != Subject::feature) return fact_fits(of.record, condition);
  switch (condition.kind) {
    case ConditionKind::all_of:
      return std::ranges::all_of(condition.parts, part_holds);
    case ConditionKind::any_of:
      return std::ranges::any_of(condition.parts, part_holds);
    case ConditionKind::negation:
      return !part_holds(condition.parts.front());
    case ConditionKind::comparison:
    case ConditionKind::function:
      return comparison_holds(of, condition);
    case ConditionKind::length:
      return length_fits(of.message, condition);
    case ConditionKind::has:
      return has(of.message, condition.name);
  }
  return false;
}

}  // namespace recordpipe
