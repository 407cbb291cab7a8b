#include "recordpipe/toolkit/json_examples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "dataset/example/nearest_float.h"
#include "dataset/example/wire_writer.h"
#include "dataset/toolkit/formats/json_value.h"
#include "dataset/toolkit/number_text.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using JsonKind = JsonValue::Kind;

[[noreturn]] void fail_feature(const std::string& name, const std::string& reason) {
  throw Error({.kind = ErrorKind::corrupted, .reason = "\"" + printable(name) + "\": " + reason});
}

std::string bytes_of(const JsonValue& value) {
  return value.is_base64() ? decode_base64(value.members.front().second.text) : value.text;
}

float float_of(const JsonValue& value, const std::string& name) {
  if (const auto number = parse_float(value.text)) return *number;
  fail_feature(name, out_of_float_range(value.text));
}

// Also accepts 3.0, which programs without an integer type write.
int64_t integer_of(const JsonValue& value, const std::string& name) {
  if (value.kind == JsonKind::integer) return value.integer;
  constexpr double kExact = 9007199254740992;  // 2^53
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const bool is_number = std::from_chars(value.text.data(), end, number).ptr == end;
  if (is_number && std::abs(number) <= kExact && number == std::floor(number)) {
    return static_cast<int64_t>(number);
  }
  fail_feature(name, value.text + " is not a whole number, but the feature is int64");
}

int64_t uint64_bits_of(const JsonValue& value, const std::string& name) {
  const bool is_boolean = value.kind == JsonKind::integer && value.text.empty();
  const auto bits = is_boolean ? std::optional(value.integer) : parse_uint64_bits(value.text);
  if (bits) return *bits;
  fail_feature(name, value.text + " is not a whole number from 0 to 2^64 - 1");
}

std::string kind_of(std::span<const JsonValue> values, const std::string& name) {
  if (values.empty()) return "";
  if (std::ranges::all_of(values, &JsonValue::is_bytes)) return "bytes";
  if (std::ranges::all_of(values, [](const JsonValue& v) { return v.kind == JsonKind::integer; })) {
    return "int64";
  }
  const auto is_number = [](const JsonValue& v) {
    return v.kind == JsonKind::integer || v.kind == JsonKind::floating;
  };
  if (std::ranges::all_of(values, is_number)) return "float";
  if (std::ranges::any_of(values, [](const JsonValue& v) { return v.kind == JsonKind::array; })) {
    fail_feature(name, "nested lists, which an Example can't represent");
  }
  if (std::ranges::any_of(values, [](const JsonValue& v) {
        return v.kind == JsonKind::object && !v.is_base64();
      })) {
    fail_feature(name, "an object in a list, which an Example can't represent");
  }
  fail_feature(name, "values of several kinds in one list");
}

// Throws if a list of floats contains an integer that float can't represent exactly: rounding would
// change an identifier, for example.
void require_exact(std::span<const JsonValue> values, const std::string& name,
                   const std::string& types_called) {
  for (const JsonValue& value : values) {
    if (value.kind != JsonKind::integer || !is_rounded_by_float(value.integer)) continue;
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "\"" + printable(name) + "\": " + value.text +
                           " is a whole number that a float, which all values of the list fit, "
                           "can't represent exactly",
                 .hint = types_called + " " + printable(name) + "=float rounds it"});
  }
}

std::string feature_of_values(std::span<const JsonValue> values, std::string kind,
                              const std::string& name, const std::string& types_called) {
  const std::string found = kind_of(values, name);
  const bool are_numbers = found == "int64" || found == "float";
  const bool fits = kind.empty() || found.empty() || kind == found ||
                    (are_numbers && (kind == "float" || kind == "int64" || kind == "uint64"));
  if (!fits) fail_feature(name, "values of kind " + found + ", expected " + kind);
  const auto huge = std::ranges::find_if(values, &JsonValue::is_beyond_int64);
  if (huge != values.end() && kind != "float" && kind != "uint64") {
    throw Error(
        {.kind = ErrorKind::corrupted,
         .reason = "\"" + printable(name) + "\": " + huge->text + " is too large for an int64",
         .hint = types_called + " " + printable(name) + "=uint64 keeps the bits up to 2^64 - 1"});
  }
  if (kind.empty()) {
    kind = found;
    if (kind == "float") require_exact(values, name, types_called);
  }
  if (kind == "bytes") {
    std::vector<std::string> strings;
    for (const JsonValue& value : values) strings.push_back(bytes_of(value));
    std::vector<std::span<const std::byte>> spans;
    for (const std::string& string : strings) spans.push_back(std::as_bytes(std::span(string)));
    return bytes_feature(spans);
  }
  if (kind == "float") {
    std::vector<float> floats;
    for (const JsonValue& value : values) {
      floats.push_back(value.text.empty() ? static_cast<float>(value.integer)
                                          : float_of(value, name));
    }
    return floats_feature(floats);
  }
  if (kind == "int64") {
    std::vector<int64_t> integers;
    for (const JsonValue& value : values) integers.push_back(integer_of(value, name));
    return int64s_feature(integers);
  }
  if (kind == "uint64") {
    std::vector<int64_t> bits;
    for (const JsonValue& value : values) bits.push_back(uint64_bits_of(value, name));
    return int64s_feature(bits);
  }
  if (!kind.empty()) fail_feature(name, "there is no kind " + kind);
  return {};
}

std::string feature_of(const JsonValue& value, const std::string& kind, const std::string& name,
                       const std::string& types_called) {
  if (value.kind == JsonKind::array)
    return feature_of_values(value.items, kind, name, types_called);
  if (value.kind == JsonKind::object && !value.is_base64()) {
    fail_feature(name, "an object, which an Example can't represent");
  }
  return feature_of_values(std::span(&value, 1), kind, name, types_called);
}

// Returns the kind, which the field number of the list determines.
FeatureKind kind_of_feature(std::string_view serialized) {
  switch (static_cast<unsigned char>(serialized.front()) >> 3) {
    case kFeatureBytesList:
      return FeatureKind::bytes;
    case kFeatureFloatList:
      return FeatureKind::floats;
    default:
      return FeatureKind::int64s;
  }
}

// Serialises `steps`. A step that is null has no list. `kinds` is null, or a list with the kind of
// each step; a kind is null if the step's values imply it.
std::string feature_list_of(const JsonValue& steps, const JsonValue* kinds, const std::string& type,
                            const std::string& name, const std::string& types_called) {
  if (steps.kind != JsonKind::array) fail_feature(name, "should be a list of steps");
  std::string list;
  for (size_t i = 0; i < steps.items.size(); ++i) {
    const JsonValue& step = steps.items[i];
    const bool has_kind = type.empty() && kinds && i < kinds->items.size();
    const std::string& kind = has_kind ? kinds->items[i].text : type;
    const std::string feature =
        step.kind == JsonKind::null ? "" : feature_of(step, kind, name, types_called);
    append_length_header(kFeatureListFeature, feature.size(), list);
    list += feature;
  }
  return list;
}

// The keys beside "features" and beside "payload" (record_json.h).
constexpr std::array<std::string_view, 7> kBesideFeatures = {
    "features", "kinds", "feature_lists", "step_kinds", "path", "record", "offset"};
constexpr std::array<std::string_view, 5> kBesidePayload = {"payload", "undecided", "path",
                                                            "record", "offset"};

// Returns the first key of the object that is none of these; null if there is none.
const std::string* first_other_key(const JsonValue& object,
                                   std::span<const std::string_view> known) {
  const auto other = std::ranges::find_if(object.members, [&](const auto& member) {
    return std::ranges::find(known, member.first) == known.end();
  });
  return other == object.members.end() ? nullptr : &other->first;
}

// Throws if anything beside "features" would be dropped.
void require_known_keys(const JsonValue& shown) {
  if (shown.find("examples")) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason =
                     "an ExampleListWithContext: only Examples and SequenceExamples can be made "
                     "(export keeps such lists as they are)"});
  }
  if (const std::string* const other = first_other_key(shown, kBesideFeatures)) {
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "the key \"" + printable(*other) +
                           "\" beside \"features\", where only kinds, feature_lists, step_kinds, "
                           "path, record and offset may stand",
                 .hint = "features stand inside of \"features\" or, without it, all side by side"});
  }
  for (const char* const name : {"kinds", "feature_lists", "step_kinds"}) {
    const JsonValue* const value = shown.find(name);
    if (value && value->kind != JsonKind::object) fail_feature(name, "should be an object");
  }
}

}  // namespace

std::string JsonExamples::record(std::string_view line, Place place) {
  const JsonValue value = parse_json(line);
  if (value.kind != JsonKind::object) {
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "should be an object: {\"name\": value}",
                 .hint = value.kind == JsonKind::array
                             ? "one object a line: jq -c '.[]' makes them of a list"
                             : ""});
  }
  const JsonValue* const features = value.find("features");
  const bool has_features =
      features && features->kind == JsonKind::object && !features->is_base64();
  const JsonValue* const payload = value.find("payload");
  // (With other keys, the line is an Example with a feature "payload".)
  const bool is_payload = !has_features && payload && value.find("record") && payload->is_bytes() &&
                          !first_other_key(value, kBesidePayload);
  if (!has_features && !is_payload && value.find("event") && value.find("record")) {
    throw Error(
        {.kind = ErrorKind::unsupported,
         .reason = "an Event: only Examples can be made (export keeps Events as they are)"});
  }
  if (has_features) require_known_keys(value);
  const bool is_shown = has_features || is_payload;
  survey_.add(is_shown ? JsonSurvey::Form::shown : JsonSurvey::Form::plain, place);
  if (is_payload) return bytes_of(*payload);
  std::string record;
  append_feature_map(kExampleFeatures,
                     is_shown ? features_of(*features, value.find("kinds"), place)
                              : features_of(value, nullptr, place),
                     record);
  const JsonValue* const lists = is_shown ? value.find("feature_lists") : nullptr;
  if (lists) append_feature_lists(*lists, value.find("step_kinds"), record);
  return record;
}

SerializedFeatures JsonExamples::features_of(const JsonValue& object, const JsonValue* kinds,
                                             Place place) {
  SerializedFeatures features;
  for (const auto& [name, value] : object.members) {
    if (value.kind == JsonKind::null) continue;
    const JsonValue* const kind = kinds ? kinds->find(name) : nullptr;
    const std::string& type = type_of(name);
    const bool is_told = !type.empty() || kind;
    std::string feature =
        feature_of(value, type.empty() && kind ? kind->text : type, name, types_.called);
    if (!is_told && !feature.empty()) survey_.add(name, kind_of_feature(feature), place);
    features.emplace(name, std::move(feature));
  }
  return features;
}

// `object` is {"name": [[values of a step], ...]}.
void JsonExamples::append_feature_lists(const JsonValue& object, const JsonValue* kinds,
                                        std::string& record) {
  SerializedFeatures lists;
  for (const auto& [name, steps] : object.members) {
    const std::string& type = type_of(name);
    lists.emplace(name, feature_list_of(steps, kinds ? kinds->find(name) : nullptr, type, name,
                                        types_.called));
  }
  // Even an empty field distinguishes a SequenceExample from an Example.
  if (lists.empty()) append_length_header(kSequenceFeatureLists, 0, record);
  append_feature_map(kSequenceFeatureLists, lists, record);
}

const std::string& JsonExamples::type_of(const std::string& name) {
  static const std::string kByItsValues;
  survey_.add(name);
  const auto type = types_.kinds.find(name);
  return type == types_.kinds.end() ? kByItsValues : type->second;
}

std::optional<std::string> feature_of_json(std::string_view text, std::string_view kind) {
  JsonValue value;
  try {
    value = parse_json(text);
  } catch (const Error&) {
    return std::nullopt;  // text that begins like JSON
  }
  if (value.kind != JsonKind::array && !value.is_base64()) return std::nullopt;
  return feature_of(value, std::string(kind), "", "types");
}

}  // namespace recordpipe
