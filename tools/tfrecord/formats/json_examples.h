// Records made of JSON, one object a line.
//
// What `show --json` and `export` print gives the same Examples, SequenceExamples and other records
// back ("record", "offset" and "path" don't count). Any other object is an Example:
//     {"label": 3, "box": [0.5, 1], "name": "cat", "image": {"base64": "..."}}
// Whole numbers, true and false are int64, numbers with a point or an exponent float (and so are
// all numbers of a list with one of those, and NaN, Infinity, -Infinity), strings and base64 bytes.
// Null is no feature. [] is a list of the kind that "kinds" says, or of none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "recordpipe/internal/example/feature_writer.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/formats/json_survey.h"
#include "tools/tfrecord/formats/json_value.h"

namespace recordpipe {

// One thread at a time.
class JsonExamples {
 public:
  using Place = JsonSurvey::Place;

  // Features of the names in `types` are of that kind, and not of the one that their values or
  // "kinds" say: 3 is the float 3, "x" can't be. `types` must live as long.
  explicit JsonExamples(const FeatureTypes& types) : types_(types) {}

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
