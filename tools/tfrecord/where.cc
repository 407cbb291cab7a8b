#include "tools/tfrecord/where.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dataset/base/error.h"
#include "dataset/example/feature_values.h"
#include "tools/tfrecord/where_parser.h"

namespace recordpipe {
namespace {

using Operator = Where::Condition::Operator;

// -1, 0 or 1 as a is less than, equal to or greater than b; exact, whatever their sizes.
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

// One value beside a literal; of another kind, nothing fits.
bool fits(int64_t value, Operator how, const WhereLiteral& literal) {
  if (const auto* number = std::get_if<int64_t>(&literal))
    return fits(compare(value, *number), how);
  if (const auto* number = std::get_if<double>(&literal)) return fits(compare(value, *number), how);
  return false;
}

// As a float where there is one near it.
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

void note(const Where::Condition& condition, bool found) {
  set_once(condition.asked);
  if (found) set_once(condition.found);
}

bool comparison_holds(const MessageView& record, const Where::Condition& condition) {
  const FeatureView* const feature = record.find_feature(condition.name);
  const FeatureListView* const list = record.find_feature_list(condition.name);
  note(condition, feature != nullptr || list != nullptr);
  if (feature != nullptr) return some_value_fits(*feature, condition);
  bool found = false;
  if (list != nullptr) {
    list->for_each_step(
        [&](const FeatureView& step) { found = found || some_value_fits(step, condition); });
  }
  return found;
}

bool length_fits(const MessageView& record, const Where::Condition& condition) {
  const FeatureView* feature = record.find_feature(condition.name);
  const FeatureListView* list = record.find_feature_list(condition.name);
  note(condition, feature != nullptr || list != nullptr);
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

}  // namespace

Where::Where(std::string_view expression)
    : condition_(std::make_unique<Condition>(parse_where(expression))) {}
Where::~Where() = default;
Where::Where(Where&&) noexcept = default;
Where& Where::operator=(Where&&) noexcept = default;

bool Where::matches(const MessageView& record) const { return holds(record, *condition_); }

std::vector<std::string> Where::missing() const {
  std::vector<std::string> names;
  const std::function<void(const Condition&)> look = [&](const Condition& condition) {
    if (condition.asked && !condition.found) names.push_back(condition.name);
    std::ranges::for_each(condition.parts, look);
  };
  look(*condition_);
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  return names;
}

void warn_of_missing(const Where& where, std::string_view command, TerminalProgress& progress) {
  for (const std::string& name : where.missing()) {
    progress.warn(fmt::format("tfrecord {}: --where asks for {}, which no record has", command,
                              printable(name)));
  }
}

CLI::Option* add_where(CLI::App& app, std::string& expression) {
  return app
      .add_option("--where", expression,
                  "Only records whose features fit: \"label == 3 and len(box) > 0\"")
      // A shell variable that isn't set would select everything.
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "an empty expression" : ""; }, ""))
      ->type_name("EXPR");
}

}  // namespace recordpipe
