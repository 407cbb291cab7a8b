#include "recordpipe/toolkit/where.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "dataset/example/nearest_float.h"
#include "dataset/toolkit/names.h"
#include "dataset/toolkit/selection/where_parser.h"
#include "recordpipe/error.h"
#include "recordpipe/feature_values.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/toolkit/feature_edit.h"

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
  return false;
}

bool fits(uint64_t value, Operator how, const WhereLiteral& literal) {
  if (value <= INT64_MAX) return fits(static_cast<int64_t>(value), how, literal);
  if (std::holds_alternative<int64_t>(literal)) return fits(1, how);
  const auto* const number = std::get_if<double>(&literal);
  if (number == nullptr) return false;
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64
  if (*number >= kTooLarge) return fits(-1, how);
  if (*number < kTooLarge / 2) return fits(1, how);
  const auto other = static_cast<uint64_t>(*number);  // doubles of this size are whole
  return fits(value < other ? -1 : value > other ? 1 : 0, how);
}

bool fits(double value, Operator how, const WhereLiteral& literal) {
  if (std::holds_alternative<std::string>(literal)) return false;
  if (std::isnan(value)) return how == Operator::not_equal;
  if (const auto* whole = std::get_if<int64_t>(&literal)) return fits(-compare(*whole, value), how);
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
  if (feature != nullptr) {
    note_kind(condition, feature->kind());
  } else if (list != nullptr) {
    note_kind(condition, FeatureKind::none);  // kinds of steps: noted when compared
  }
}

// What a condition is evaluated on; `record` and `exact` may be null.
struct Evaluated {
  const MessageView& message;
  const NumberedRecord* record;
  const Where::ExactNumbers* exact;
};

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

bool comparison_holds(const Evaluated& of, const Where::Condition& condition) {
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

bool holds(const Evaluated& of, const Where::Condition& condition) {
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

// Throws if the values of an existing feature can't be compared with the literals.
void require_comparable(const Where::Condition& condition, const std::string& called) {
  if (condition.kind != ConditionKind::comparison && condition.kind != ConditionKind::function)
    return;
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
  const char* const kinds = has_bytes     ? "bytes"
                            : !has_int64s ? "float"
                            : has_floats  ? "int64 or float"
                                          : "int64";
  if (condition.kind == ConditionKind::function) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = called + " uses " + std::string(to_string(condition.function)) +
                           "() on " + printable(condition.name) + ", but its values are " + kinds,
                 .hint = "numbers are compared by == < <= > >= and in"});
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = called + " compares " + printable(condition.name) + " with " +
                         (has_bytes ? "a number" : "a string") + ", but its values are " + kinds,
               .hint = has_bytes ? "a string stands in quotes" : "a number stands without quotes"});
}

// Calls visit() with `condition` and all parts of it, in the order of the expression.
template <typename Visit>
void visit_conditions(const Where::Condition& condition, const Visit& visit) {
  visit(condition);
  for (const Where::Condition& part : condition.parts) visit_conditions(part, visit);
}

// Whether the condition needs a feature of this name.
bool uses_values(const Where::Condition& condition) {
  return condition.subject == Subject::feature &&
         (condition.kind == ConditionKind::comparison || condition.kind == ConditionKind::length ||
          condition.kind == ConditionKind::function);
}

// Notes which features the record has whose conditions were not evaluated.
void note_present(const MessageView& message, const Where::Condition& whole) {
  visit_conditions(whole, [&](const Where::Condition& condition) {
    const std::atomic_ref kinds(condition.kinds);
    if (!uses_values(condition) || kinds.load(std::memory_order_relaxed) != 0) return;
    if (message.find_feature(condition.name) || message.find_feature_list(condition.name)) {
      note_kind(condition, FeatureKind::none);
    }
  });
}

// Returns the first name, in sorted order, that no record has and for which there is no has(); null
// if there is none.
const std::string* first_missing(const Where::Condition& whole) {
  const std::string* first = nullptr;
  const auto may_be_missing = [&](const std::string& name) {
    bool found = false;
    visit_conditions(whole, [&](const Where::Condition& condition) {
      found = found || (condition.kind == ConditionKind::has && condition.name == name);
    });
    return found;
  };
  visit_conditions(whole, [&](const Where::Condition& condition) {
    if (!uses_values(condition) || condition.kinds != 0 || may_be_missing(condition.name)) return;
    if (first == nullptr || condition.name < *first) first = &condition.name;
  });
  return first;
}

bool does_use_features(const Where::Condition& whole) {
  bool uses = false;
  visit_conditions(whole, [&](const Where::Condition& condition) {
    uses = uses || uses_values(condition) || condition.kind == ConditionKind::has ||
           condition.subject == Subject::any_feature;
  });
  return uses;
}

// Collects Where::Unknown, the same whatever the order of the records.
class UnknownRecords {
 public:
  // Thread-safe. `record` may be null.
  void add(const MessageView& message, const NumberedRecord* record) {
    Where::Unknown one = {.count = 1, .why = message.undecided()};
    if (record != nullptr) {
      one.number = record->number;
      one.path = record->path;
    }
    add(one);
  }

  void add(const Where::Unknown& other) {
    const std::lock_guard lock(mutex_);
    all_.count += other.count;
    const bool is_first = std::tie(other.number, other.path) < std::tie(all_.number, all_.path);
    if (other.why.empty() || (!all_.why.empty() && !is_first)) return;
    all_.why = other.why;
    all_.number = other.number;
    all_.path = other.path;
  }

  const Where::Unknown& all() const { return all_; }

  // A note; empty if there are none. `called`: the expression. If not all records were looked at,
  // the number depends on the threads.
  std::string note(const std::string& called, bool looked_at_all) const {
    if (all_.count == 0) return {};
    const std::string records = looked_at_all ? counted(all_.count, "record") : "some records";
    const bool is_one = looked_at_all && all_.count == 1;
    std::string note = records + (is_one ? " is" : " are") + " of no known kind, and " + called +
                       " finds no features in " + (is_one ? "it" : "them");
    if (all_.why.empty()) return note;
    return note + (is_one ? ": " : ", for example ") + all_.why + "; the option kind (" +
           "example, for instance) says what " + (is_one ? "it is" : "they are");
  }

 private:
  std::mutex mutex_;
  Where::Unknown all_;
};

// Checks only conditions that must hold: a comparison that fails under `not` selects the record.
void require_all_comparable(const Where::Condition& condition, const std::string& called) {
  if (condition.kind == ConditionKind::negation) return;
  for (const Where::Condition& part : condition.parts) require_all_comparable(part, called);
  require_comparable(condition, called);
}

}  // namespace

struct Where::State {
  const Condition condition;
  const std::string called;
  const bool uses_features = does_use_features(condition);
  FirstNames names = {};
  UnknownRecords unknown = {};
  // Whether there was any record, and whether some record matched; any thread may set them.
  bool any = false;
  bool matched = false;
};

Where::Where(std::string_view expression, std::string_view called)
    : state_(
          new State{.condition = parse_where(expression, called), .called = std::string(called)}) {}
Where::~Where() = default;
Where::Where(Where&&) noexcept = default;
Where& Where::operator=(Where&&) noexcept = default;

bool Where::matches(const MessageView& message) const { return matches(message, nullptr, nullptr); }

bool Where::matches(const MessageView& message, const NumberedRecord& record,
                    const ExactNumbers* exact) const {
  return matches(message, &record, exact);
}

bool Where::matches(const MessageView& message, const NumberedRecord* record,
                    const ExactNumbers* exact) const {
  set_once(state_->any);
  state_->names.add(message);
  if (state_->uses_features && message.kind() == MessageKind::unknown) {
    state_->unknown.add(message, record);
  }
  const bool does = holds({message, record, exact}, state_->condition);
  if (does) set_once(state_->matched);
  note_present(message, state_->condition);
  return does;
}

std::string Where::require_possible(bool looked_at_all) const {
  const State& state = *state_;
  const std::string note = state.unknown.note(state.called, looked_at_all);
  try {
    const std::string* const missing = state.any ? first_missing(state.condition) : nullptr;
    if (missing != nullptr) {
      throw Error({.kind = ErrorKind::not_found,
                   .reason = state.called + " names " + printable(*missing) + ", which no record " +
                             (looked_at_all ? "" : "that was read ") + "has; " +
                             there_are(state.names.all(), *missing),
                   .hint = note});
    }
    if (!state.matched) require_all_comparable(state.condition, state.called);
  } catch (const Error& error) {
    if (looked_at_all) throw;
    return note.empty() ? error.reason() : error.reason() + "; " + note;
  }
  return note;
}

Where::Seen Where::seen() const {
  Seen seen{.any = state_->any,
            .matched = state_->matched,
            .names = state_->names.all(),
            .unknown = state_->unknown.all()};
  visit_conditions(state_->condition,
                   [&](const Condition& condition) { seen.kinds.push_back(condition.kinds); });
  return seen;
}

void Where::add_seen(const Seen& seen) {
  size_t count = 0;
  visit_conditions(state_->condition, [&](const Condition&) { ++count; });
  if (seen.kinds.size() != count) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = state_->called + " is another expression than that of a part"});
  }
  auto kinds = seen.kinds.begin();
  visit_conditions(state_->condition, [&](const Condition& condition) {
    condition.kinds = static_cast<uint8_t>(condition.kinds | *kinds++);
  });
  state_->names.add(seen.names);
  state_->unknown.add(seen.unknown);
  state_->any = state_->any || seen.any;
  state_->matched = state_->matched || seen.matched;
}

}  // namespace recordpipe
