#include "recordpipe/toolkit/where.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "dataset/toolkit/names.h"
#include "dataset/toolkit/selection/where_parser.h"
#include "recordpipe/error.h"
#include "recordpipe/feature_values.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {
namespace {

using Operator = Where::Condition::Operator;

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

int compare(int64_t a, int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

int compare(std::string_view a, std::string_view b) {
  const int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
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

// Compares a value with a literal. Returns false if their kinds differ.
bool fits(int64_t value, Operator how, const WhereLiteral& literal) {
  if (const auto* number = std::get_if<int64_t>(&literal))
    return fits(compare(value, *number), how);
  if (const auto* number = std::get_if<double>(&literal)) return fits(compare(value, *number), how);
  return false;
}

// Rounds `number` to float, unless it is out of the range of float.
double rounded(double number) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return std::abs(number) <= kLargest ? static_cast<float>(number) : number;
}

bool fits(float value, Operator how, const WhereLiteral& literal) {
  double other = 0;
  if (const auto* whole = std::get_if<int64_t>(&literal)) {
    other = static_cast<float>(*whole);
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
  const std::string_view bytes(reinterpret_cast<const char*>(value.data()), value.size());
  return text != nullptr && fits(compare(bytes, *text), how);
}

bool some_value_fits(const FeatureView& feature, const Where::Condition& condition) {
  bool found = false;
  const auto look = [&](auto value) {
    found = found || std::ranges::any_of(condition.literals, [&](const WhereLiteral& literal) {
              return fits(value, condition.how, literal);
            });
  };
  for_each_value<FeatureKind::int64s>(feature, look);
  for_each_value<FeatureKind::floats>(feature, look);
  for_each_value<FeatureKind::bytes>(feature, look);
  return found;
}

void set_once(bool& flag) {
  const std::atomic_ref shared(flag);
  if (!shared.load(std::memory_order_relaxed)) shared.store(true, std::memory_order_relaxed);
}

constexpr uint8_t bit(FeatureKind kind) { return uint8_t(1U << static_cast<unsigned>(kind)); }

void note_kind(const Where::Condition& condition, FeatureKind kind) {
  const std::atomic_ref kinds(condition.kinds);
  if ((kinds.load(std::memory_order_relaxed) & bit(kind)) == 0) {
    kinds.fetch_or(bit(kind), std::memory_order_relaxed);
  }
}

void note(const Where::Condition& condition, const FeatureView* feature,
          const FeatureListView* list) {
  set_once(condition.asked);
  if (feature != nullptr) {
    note_kind(condition, feature->kind());
  } else if (list != nullptr) {
    note_kind(condition, FeatureKind::none);  // kinds of steps: noted when compared
  }
}

bool comparison_holds(const MessageView& record, const Where::Condition& condition) {
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
  return std::ranges::any_of(condition.literals, [&](const WhereLiteral& literal) {
    return fits(static_cast<int64_t>(length), condition.how, literal);
  });
}

bool has(const MessageView& record, std::string_view name) {
  const FeatureView* feature = record.find_feature(name);
  if (feature != nullptr) return feature->kind() != FeatureKind::none;
  return record.find_feature_list(name) != nullptr;
}

bool holds(const MessageView& record, const Where::Condition& condition) {
  const auto part_holds = [&](const Where::Condition& part) { return holds(record, part); };
  switch (condition.kind) {
    case Where::Condition::Kind::all_of:
      return std::ranges::all_of(condition.parts, part_holds);
    case Where::Condition::Kind::any_of:
      return std::ranges::any_of(condition.parts, part_holds);
    case Where::Condition::Kind::negation:
      return !part_holds(condition.parts.front());
    case Where::Condition::Kind::comparison:
      return comparison_holds(record, condition);
    case Where::Condition::Kind::length:
      return length_fits(record, condition);
    case Where::Condition::Kind::has:
      return has(record, condition.name);
  }
  return false;
}

// Throws if the values of an existing feature can't be compared with the literals.
void require_comparable(const Where::Condition& condition, const std::string& called) {
  if (condition.kind != Where::Condition::Kind::comparison) return;
  const bool has_bytes = (condition.kinds & bit(FeatureKind::bytes)) != 0;
  const bool has_int64s = (condition.kinds & bit(FeatureKind::int64s)) != 0;
  const bool has_floats = (condition.kinds & bit(FeatureKind::floats)) != 0;
  const bool has_numbers = has_int64s || has_floats;
  const bool is_comparable =
      std::ranges::any_of(condition.literals, [&](const WhereLiteral& literal) {
        return std::holds_alternative<std::string>(literal) ? has_bytes : has_numbers;
      });
  // (A feature without any values is not an error.)
  if (is_comparable || (!has_bytes && !has_numbers)) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = called + " compares " + printable(condition.name) + " with " +
                         (has_bytes ? "a number" : "a string") + ", but its values are " +
                         (has_bytes     ? "bytes"
                          : !has_int64s ? "float"
                          : has_floats  ? "int64 or float"
                                        : "int64"),
               .hint = has_bytes ? "a string stands in quotes" : "a number stands without quotes"});
}

[[noreturn]] void fail_missing(const std::string& name, const FirstNames& names, bool looked_at_all,
                               const std::string& called) {
  throw Error({.kind = ErrorKind::not_found,
               .reason = called + " names " + printable(name) + ", which no record " +
                         (looked_at_all ? "" : "that was read ") + "has; " +
                         there_are(names.all(), name)});
}

// Returns the first name, in sorted order, that was requested and that no record has, or null.
const std::string* first_missing(const Where::Condition& condition) {
  const std::string* first = condition.asked && condition.kinds == 0 ? &condition.name : nullptr;
  for (const Where::Condition& part : condition.parts) {
    const std::string* const name = first_missing(part);
    if (name != nullptr && (first == nullptr || *name < *first)) first = name;
  }
  return first;
}

// Checks only conditions that must hold: a comparison that fails under `not` selects the record.
void require_all_possible(const Where::Condition& condition, const FirstNames& names,
                          bool looked_at_all, const std::string& called) {
  if (condition.kind == Where::Condition::Kind::negation) return;
  for (const Where::Condition& part : condition.parts) {
    require_all_possible(part, names, looked_at_all, called);
  }
  if (!condition.asked) return;
  if (condition.kinds != 0) return require_comparable(condition, called);
  fail_missing(condition.name, names, looked_at_all, called);
}

}  // namespace

struct Where::State {
  const Condition condition;
  const std::string called;
  FirstNames names = {};
  bool matched = false;  // whether some record matched; any thread may set it
};

Where::Where(std::string_view expression, std::string_view called)
    : state_(
          new State{.condition = parse_where(expression, called), .called = std::string(called)}) {}
Where::~Where() = default;
Where::Where(Where&&) noexcept = default;
Where& Where::operator=(Where&&) noexcept = default;

bool Where::matches(const MessageView& record) const {
  state_->names.add(record);
  const bool does = holds(record, state_->condition);
  if (does) set_once(state_->matched);
  return does;
}

void Where::require_possible(bool looked_at_all) const {
  const auto& [condition, called, names, matched] = *state_;
  const std::string* const missing = looked_at_all ? first_missing(condition) : nullptr;
  if (missing != nullptr) fail_missing(*missing, names, looked_at_all, called);
  if (!matched) require_all_possible(condition, names, looked_at_all, called);
}

RecordFilter::RecordFilter(std::optional<Where> where, std::optional<uint64_t> limit)
    : where_(std::move(where)), left_(limit) {}

std::optional<Record> RecordFilter::next(const std::function<std::optional<Record>()>& read) {
  if (is_full()) return std::nullopt;
  while (const auto record = read()) {
    if (!left_) return record;
    if (where_) {
      message_.read(record->data);
      if (!where_->matches(message_)) continue;
    }
    --*left_;
    return record;
  }
  return std::nullopt;
}

bool RecordFilter::matches(const MessageView& message) const {
  return !where_ || left_ || where_->matches(message);
}

void RecordFilter::require_possible() const {
  if (where_) where_->require_possible(!is_full());
}

}  // namespace recordpipe
