// Parses JSON Lines into records: one JSON object per line, one record per object.
//
// Restores the Examples, SequenceExamples and other records that record_json.h writes ("record",
// "offset", "path" and "undecided" are ignored; another key beside "features" is an error). Any
// other object is an Example:
//     {"label": 3, "box": [0.5, 1], "name": "cat", "image": {"base64": "..."}}
// Integers, true and false are int64. Numbers with a decimal point or an exponent are float, and so
// are NaN, Infinity, -Infinity and all numbers of a list that contains a float. Strings and base64
// objects are bytes. A feature whose value is null is omitted. [] is an empty list of the kind
// given in "kinds"; without a kind, it is a Feature with no list.
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

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/internal/feature_writer.h"

namespace recordpipe {

struct JsonValue;

// The feature kinds that the caller specifies: feature name → "bytes", "float", "int64" or
// "uint64". An uint64, 0 to 2^64 - 1, becomes the int64 of the same bits.
struct FeatureTypes {
  std::map<std::string, std::string, std::less<>> kinds = {};
  // The name of these types in error messages, for example a program's option.
  std::string called = "types";
};

// The schema of all lines so far: their form, the kinds of each feature, and the line where each
// form and kind first occurred. Detects contradictions between lines.
class JsonSurvey {
 public:
  // The maximum number and total size of the feature names. Beyond either, throws
  // Error{limit_exceeded}.
  static constexpr size_t kMaxNames = 1'000'000;
  static constexpr size_t kMaxNameBytes = size_t{64} << 20;

  // shown: {"features": {...}} and the like, as `show --json` prints them. plain: {"name": value}.
  enum class Form { shown, plain };
  // A line of an input: the file's index, and the line number from 1.
  struct Place {
    size_t file = 0;
    uint64_t line = 0;
    auto operator<=>(const Place&) const = default;
  };
  // The first place of each kind. Empty if the kind is known only from FeatureTypes or "kinds".
  using Kinds = std::map<FeatureKind, Place>;
  using Features = std::map<std::string, Kinds, std::less<>>;

  explicit JsonSurvey(std::string types_called = "types")
      : types_called_(std::move(types_called)) {}

  void add(Form form, Place place) { forms_.try_emplace(form, place); }
  void add(std::string_view name);
  void add(std::string_view name, FeatureKind kind, Place place);

  // Adds the survey of later lines. Throws Error{corrupted}, naming both lines, if one line is
  // plain and another is not, or if a feature of plain lines has different kinds in two lines.
  // Kinds may differ between lines in the form `shown`, so that the output of `show` can always be
  // restored. `paths` are the paths of the files.
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

// Not thread-safe.
class JsonExamples {
 public:
  using Place = JsonSurvey::Place;

  // A feature in `types` has the kind given there, regardless of its values and "kinds": 3 becomes
  // the float 3; "x" is an error. `types` must outlive this object.
  explicit JsonExamples(const FeatureTypes& types) : types_(types), survey_(types.called) {}

  // Returns the serialised record of one line. `place` is the position of the line. Throws
  // Error{corrupted} with the reason if the line is invalid.
  std::string record(std::string_view line, Place place);

  // The survey of all lines so far.
  const JsonSurvey& survey() const { return survey_; }

 private:
  SerializedFeatures features_of(const JsonValue& object, const JsonValue* kinds, Place place);
  void append_feature_lists(const JsonValue& object, const JsonValue* kinds, std::string& record);
  const std::string& type_of(const std::string& name);

  const FeatureTypes& types_;
  JsonSurvey survey_;
};

// Converts a JSON list or {"base64": ...} to a serialised Feature; nullopt if the text is neither.
// `kind` is "bytes", "float", "int64" or "uint64", or "" to infer the kind from the values.
std::optional<std::string> feature_of_json(std::string_view text, std::string_view kind);

}  // namespace recordpipe
