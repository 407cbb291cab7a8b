#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/json_examples.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

using Place = JsonSurvey::Place;

// Returns "line 3", or "line 3 of a.jsonl" if `place` and `beside` are in different files.
std::string in_words(Place place, Place beside, std::span<const std::string> paths) {
  std::string words = "line " + std::to_string(place.line);
  if (place.file != beside.file) words += " of " + printable(paths[place.file]);
  return words;
}

[[noreturn]] void fail(Place place, std::span<const std::string> paths, const std::string& reason,
                       std::string hint) {
  throw Error({.kind = ErrorKind::corrupted,
               .path = paths[place.file],
               .reason = "line " + std::to_string(place.line) + ": " + reason,
               .hint = std::move(hint)});
}

}  // namespace

void JsonSurvey::add(std::string_view name) { kinds_of(name); }

void JsonSurvey::add(std::string_view name, FeatureKind kind, Place place) {
  kinds_of(name).try_emplace(kind, place);
}

void JsonSurvey::append(const JsonSurvey& later, std::span<const std::string> paths) {
  for (const auto& [form, place] : later.forms_) forms_.try_emplace(form, place);
  require_one_form(paths);
  for (const auto& [name, its] : later.features_) {
    Kinds& kinds = kinds_of(name);
    kinds.insert(its.begin(), its.end());
    if (forms_.contains(Form::plain)) require_one_kind(name, kinds, paths);
  }
}

JsonSurvey::Kinds& JsonSurvey::kinds_of(std::string_view name) {
  const auto found = features_.find(name);
  if (found != features_.end()) return found->second;
  name_bytes_ += name.size();
  if (features_.size() == kMaxNames || name_bytes_ > kMaxNameBytes) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "more than 1,000,000 names of features, or 64 MiB of them"});
  }
  return features_.emplace(name, Kinds()).first->second;
}

void JsonSurvey::require_one_form(std::span<const std::string> paths) const {
  if (forms_.size() < 2) return;
  const Place shown = forms_.at(Form::shown);
  const Place plain = forms_.at(Form::plain);
  const Place second = std::max(shown, plain);
  const std::string first = in_words(std::min(shown, plain), second, paths);
  fail(second, paths,
       second == plain
           ? "a plain object, where " + first + " is one with \"features\", as show --json prints"
           : "an object as show --json prints, with \"features\", where " + first +
                 " is a plain one",
       "either write all as {\"name\": value} or all as show --json does");
}

void JsonSurvey::require_one_kind(const std::string& name, const Kinds& kinds,
                                  std::span<const std::string> paths) const {
  if (kinds.size() < 2) return;
  const auto& [first_kind, first] =
      *std::ranges::min_element(kinds, {}, &Kinds::value_type::second);
  // Finds the first kind that conflicts with `first_kind`: numbers conflict with bytes if there are
  // both; otherwise the two kinds of numbers conflict.
  const bool are_numbers = !kinds.contains(FeatureKind::bytes);
  const auto goes_with_first = [&, first = first_kind](FeatureKind kind) {
    return kind == first ||
           (!are_numbers && kind != FeatureKind::bytes && first != FeatureKind::bytes);
  };
  const auto second = std::ranges::min_element(kinds, {}, [&](const Kinds::value_type& its) {
    return std::pair(goes_with_first(its.first), its.second);
  });
  fail(second->second, paths,
       "\"" + printable(name) + "\" is " + std::string(json_kind(second->first)) + ", where " +
           in_words(first, second->second, paths) + " has " + std::string(json_kind(first_kind)),
       "readers of the records expect one kind: " +
           (are_numbers ? types_called_ + " " + printable(name) + "=float makes it one"
                        : "write it the same way in all lines, or null"));
}

}  // namespace recordpipe
