// Makes records of JSON, one object a line.
//
// What record_json.h writes gives the same Examples, SequenceExamples and other records back
// ("record", "offset" and "path" don't count). Any other object is an Example:
//     {"label": 3, "box": [0.5, 1], "name": "cat", "image": {"base64": "..."}}
// Whole numbers, true and false are int64, numbers with a point or an exponent float (and so are
// all numbers of a list with one of those, and NaN, Infinity, -Infinity), strings and base64 bytes.
// Null is no feature. [] is a list of the kind that "kinds" says, or of none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/example_view.h"
#include "recordpipe/internal/example/feature_writer.h"

namespace recordpipe {

struct JsonValue;

// The kinds of features that the caller states: feature → "bytes", "float" or "int64".
struct FeatureTypes {
  std::map<std::string, std::string, std::less<>> kinds = {};
  // What messages call them: a program gives the name of its option.
  std::string called = "types";
};

// What lines of JSON hold together: how they are written and which kinds their features are of, and
// where that contradicts what came before.
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
  // Where each came first. None where only FeatureTypes or "kinds" said what it is.
  using Kinds = std::map<FeatureKind, Place>;
  using Features = std::map<std::string, Kinds, std::less<>>;

  explicit JsonSurvey(std::string types_called = "types")
      : types_called_(std::move(types_called)) {}

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

  std::string types_called_;
  std::map<Form, Place> forms_;
  Features features_;
  size_t name_bytes_ = 0;
};

// One thread at a time.
class JsonExamples {
 public:
  using Place = JsonSurvey::Place;

  // Features of the names in `types` are of that kind, and not of the one that their values or
  // "kinds" say: 3 is the float 3, "x" can't be. `types` must live as long.
  explicit JsonExamples(const FeatureTypes& types) : types_(types), survey_(types.called) {}

  // Of one line, which stands at `place`. Throws Error{corrupted} that says what is wrong with it.
  std::string record(std::string_view line, Place place);

  // Of all lines that there were.
  const JsonSurvey& survey() const { return survey_; }

 private:
  SerializedFeatures features_of(const JsonValue& object, const JsonValue* kinds, Place place);
  void append_feature_lists(const JsonValue& object, const JsonValue* kinds, std::string& record);
  const std::string& type_of(const std::string& name);

  const FeatureTypes& types_;
  JsonSurvey survey_;
};

// The values of a JSON list, or of {"base64": ...}, as a serialised Feature; nothing where the text
// is neither. `kind` is "bytes", "float", "int64", or "" where the values say it.
std::optional<std::string> feature_of_json(std::string_view text, std::string_view kind);

}  // namespace recordpipe
