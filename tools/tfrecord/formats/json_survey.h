// What lines of JSON hold together: how they are written and which kinds their features are of, and
// where that contradicts what came before.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/example_view.h"

namespace recordpipe {

class JsonSurvey {
 public:
  // Names of features: more of them, or longer ones together, are refused with
  // Error{limit_exceeded}.
  static constexpr size_t kMostNames = 1'000'000;
  static constexpr size_t kMostNameBytes = size_t{64} << 20;

  // {"features": {...}} and the like, as `show --json` prints them, or {"name": value}.
  enum class Form { shown, plain };
  // A file's place among all, and a line of it, from 1.
  struct Place {
    size_t file = 0;
    uint64_t line = 0;
    auto operator<=>(const Place&) const = default;
  };
  // Where each came first. None where only --types or "kinds" said what it is.
  using Kinds = std::map<FeatureKind, Place>;
  using Features = std::map<std::string, Kinds, std::less<>>;

  void add(Form form, Place place) { forms_.try_emplace(form, place); }
  void add(std::string_view name);
  void add(std::string_view name, FeatureKind kind, Place place);

  // Adds what lines behind these hold. Throws Error{corrupted} that names both lines where one is
  // plain and the other is not, or where a feature of plain ones is of one kind in one and of
  // another in the other: what show prints comes back as it was, whatever it was. `paths` are the
  // files'.
  void append(const JsonSurvey& later, std::span<const std::string> paths);

  const Features& features() const { return features_; }

 private:
  Kinds& kinds_of(std::string_view name);
  void require_one_form(std::span<const std::string> paths) const;
  void require_one_kind(const std::string& name, const Kinds& kinds,
                        std::span<const std::string> paths) const;

  std::map<Form, Place> forms_;
  Features features_;
  size_t name_bytes_ = 0;
};

}  // namespace recordpipe
