#include "dataset/toolkit/where/where_notes.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <variant>

#include "dataset/toolkit/names.h"
#include "dataset/toolkit/where/where_evaluation.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {
namespace {

using ConditionKind = Where::Condition::Kind;
using Subject = Where::Condition::Subject;

// Throws if the values of an existing feature can't be compared with the literals.
void require_comparable(const Where::Condition& condition, const std::string& called) {
  if (condition.kind != ConditionKind::comparison && condition.kind != ConditionKind::function)
    return;
  const bool has_bytes = (condition.kinds & kind_bit(FeatureKind::bytes)) != 0;
  const bool has_int64s = (condition.kinds & kind_bit(FeatureKind::int64s)) != 0;
  const bool has_floats = (condition.kinds & kind_bit(FeatureKind::floats)) != 0;
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

// Whether the condition needs a feature of this name.
bool uses_values(const Where::Condition& condition) {
  return condition.subject == Subject::feature &&
         (condition.kind == ConditionKind::comparison || condition.kind == ConditionKind::length ||
          condition.kind == ConditionKind::function);
}

}  // namespace

void note_present(const MessageView& message, const Where::Condition& whole) {
  visit_conditions(whole, [&](const Where::Condition& condition) {
    const std::atomic_ref kinds(condition.kinds);
    if (!uses_values(condition) || kinds.load(std::memory_order_relaxed) != 0) return;
    if (message.find_feature(condition.name) || message.find_feature_list(condition.name)) {
      note_kind(condition, FeatureKind::none);
    }
  });
}

const std::string* first_missing(const Where::Condition& whole, const Where::IsKnown& is_known) {
  const std::string* first = nullptr;
  const auto may_be_missing = [&](const std::string& name) {
    bool found = is_known && is_known(name);
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

void require_all_comparable(const Where::Condition& condition, const std::string& called) {
  if (condition.kind == ConditionKind::negation) return;
  for (const Where::Condition& part : condition.parts) require_all_comparable(part, called);
  require_comparable(condition, called);
}

void UnknownRecords::add(const MessageView& message, const NumberedRecord* record) {
  Where::Unknown one = {.count = 1, .why = message.undecided()};
  if (record != nullptr) {
    one.number = record->number;
    one.path = record->path;
  }
  add(one);
}

void UnknownRecords::add(const Where::Unknown& other) {
  const std::lock_guard lock(mutex_);
  all_.count += other.count;
  const bool is_first = std::tie(other.number, other.path) < std::tie(all_.number, all_.path);
  if (other.why.empty() || (!all_.why.empty() && !is_first)) return;
  all_.why = other.why;
  all_.number = other.number;
  all_.path = other.path;
}

std::string UnknownRecords::note(const std::string& called, bool looked_at_all) const {
  if (all_.count == 0) return {};
  const std::string records = looked_at_all ? counted(all_.count, "record") : "some records";
  const bool is_one = looked_at_all && all_.count == 1;
  std::string note = records + (is_one ? " is" : " are") + " of no known kind, and " + called +
                     " finds no features in " + (is_one ? "it" : "them");
  if (all_.why.empty()) return note;
  const char* const option = called == "where" ? "kind=" : "--kind";  // "where": in Python
  return note + (is_one ? ": " : ", for example ") + all_.why + "; " + option + " says what " +
         (is_one ? "it is" : "they are");
}

}  // namespace recordpipe
