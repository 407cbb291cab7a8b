#include <initializer_list>
#include <string_view>

#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {
namespace {

// The syntax of a language.
struct Language {
  std::string_view comment;
  std::string (*quoted)(std::string_view text);
  // Return the code for a feature's entry.
  std::string (*fixed)(FeatureKind kind, uint64_t values);
  // For a feature that some records lack; null: it is ragged.
  std::string (*optional)(FeatureKind kind, uint64_t values);
  std::string (*ragged)(FeatureKind kind);
  std::string (*fixed_steps)(FeatureKind kind, uint64_t values, bool allow_missing);
  std::string_view before_name;  // of an entry
  std::string_view after_name;
  std::string_view after_entry;
};

std::string quoted_for_cpp(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += '\\';  // three octal digits
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// JSON's escapes are valid in Python, too.
std::string quoted_for_python(std::string_view text) {
  JsonText json;
  json.string(text);
  return json.take();
}

std::string concatenated(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string cpp_kind(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return "recordpipe::FeatureKind::bytes";
    case FeatureKind::floats:
      return "recordpipe::FeatureKind::floats";
    default:
      return "recordpipe::FeatureKind::int64s";
  }
}

// The names of a Python package.
struct PythonNames {
  std::string_view import;
  std::string_view prefix;  // of the features' classes
  std::string_view bytes;
  std::string_view floats;
  std::string_view int64s;
  bool has_optional;

  std::string kind(FeatureKind kind) const {
    return std::string(kind == FeatureKind::bytes    ? bytes
                       : kind == FeatureKind::floats ? floats
                                                     : int64s);
  }
};

constexpr PythonNames kRecordpipeNames = {
    "import recordpipe as rp", "rp.", "\"bytes\"", "\"float32\"", "\"int64\"", true};
constexpr PythonNames kTensorflowNames = {
    "import tensorflow as tf", "tf.io.", "tf.string", "tf.float32", "tf.int64", false};

// Returns the shape without brackets: a scalar has an empty shape.
std::string unless_one(uint64_t values) { return values == 1 ? "" : std::to_string(values); }

constexpr Language kCpp = {
    .comment = "//",
    .quoted = quoted_for_cpp,
    .fixed =
        [](FeatureKind kind, uint64_t values) {
          return "recordpipe::FixedLen{" + cpp_kind(kind) +
                 (values == 1 ? "" : ", {" + std::to_string(values) + "}") + "}";
        },
    .optional = nullptr,
    .ragged = [](FeatureKind kind) { return "recordpipe::Ragged{" + cpp_kind(kind) + "}"; },
    .fixed_steps =
        [](FeatureKind kind, uint64_t values, bool allow_missing) {
          return "recordpipe::FixedLenSequence{" + cpp_kind(kind) + ", {" + unless_one(values) +
                 "}, " + (allow_missing ? "true" : "false") + "}";
        },
    .before_name = "{",
    .after_name = ", ",
    .after_entry = "},"};

template <const PythonNames& names>
constexpr Language kPython = {
    .comment = "#",
    .quoted = quoted_for_python,
    .fixed =
        [](FeatureKind kind, uint64_t values) {
          return concatenated({names.prefix, "FixedLenFeature([", unless_one(values), "], ",
                               names.kind(kind), ")"});
        },
    .optional = names.has_optional ? +[](FeatureKind kind, uint64_t values) {
          return concatenated({names.prefix, "FixedLenFeature([", unless_one(values), "], ",
                               names.kind(kind), ", optional=True)"});
        } : nullptr,
    .ragged =
        [](FeatureKind kind) {
          return concatenated({names.prefix, "RaggedFeature(", names.kind(kind), ")"});
        },
    .fixed_steps =
        [](FeatureKind kind, uint64_t values, bool allow_missing) {
          return concatenated({names.prefix, "FixedLenSequenceFeature([", unless_one(values), "], ",
                               names.kind(kind), allow_missing ? ", allow_missing=True)" : ")"});
        },
    .before_name = "",
    .after_name = ": ",
    .after_entry = ","};

// Returns the reason why a feature can't be in a schema, or an empty text if it can.
std::string_view left_out(const InferredFeature& feature) {
  if (!feature.kind()) return "lists of several kinds";
  return *feature.kind() == FeatureKind::none ? "never a list" : "";
}

class CodeWriter {
 public:
  CodeWriter(const InferredSchema& schema, const Language& language)
      : schema_(schema), language_(language) {}

  std::string features(std::string_view indent) const {
    std::string out;
    for (const auto& [name, feature] : schema_.features) {
      const auto values = schema_.fixed_values(feature);
      const bool is_optional = language_.optional != nullptr && feature.fixed() &&
                               feature.max_values > 0 && !schema_.features.contains(name + "_mask");
      out += entry(indent, name, feature, [&](FeatureKind kind) {
        if (values) return language_.fixed(kind, *values);
        return is_optional ? language_.optional(kind, feature.max_values) : language_.ragged(kind);
      });
    }
    return out;
  }

  std::string feature_lists(std::string_view indent) const {
    std::string out;
    for (const auto& [name, list] : schema_.feature_lists) {
      const auto values = schema_.fixed_values(list);
      const bool may_be_missing = list.records < schema_.with_features();
      out += entry(indent, name, list.step, [&](FeatureKind kind) {
        return values ? language_.fixed_steps(kind, *values, may_be_missing)
                      : language_.ragged(kind);
      });
    }
    return out;
  }

  // Returns a comment on the features that are missing because there are too many names.
  std::string left_out_names() const {
    if (schema_.left_out == 0) return "";
    return std::string(language_.comment) + " Features of other names, " +
           std::to_string(schema_.left_out) + " in all, which were not kept.\n";
  }

 private:
  template <typename Form>
  std::string entry(std::string_view indent, std::string_view name, const InferredFeature& feature,
                    Form form) const {
    const std::string_view reason = left_out(feature);
    if (!reason.empty()) {
      return concatenated(
          {indent, language_.comment, " ", language_.quoted(name), ": ", reason, "\n"});
    }
    return concatenated({indent, language_.before_name, language_.quoted(name),
                         language_.after_name, form(*feature.kind()), language_.after_entry, "\n"});
  }

  const InferredSchema& schema_;
  const Language& language_;
};

template <const PythonNames& names>
std::string schema_in_python(const InferredSchema& schema) {
  const CodeWriter code(schema, kPython<names>);
  const std::string import = std::string(names.import) + "\n\n";
  if (schema.feature_lists.empty()) {
    return import + "features = {\n" + code.features("    ") + "}\n" + code.left_out_names();
  }
  return import + "context_features = {\n" + code.features("    ") + "}\nsequence_features = {\n" +
         code.feature_lists("    ") + "}\n" + code.left_out_names();
}

}  // namespace

std::string schema_as_cpp(const InferredSchema& schema) {
  const CodeWriter code(schema, kCpp);
  if (schema.feature_lists.empty()) {
    return "#include \"recordpipe/example/parse_example.h\"\n\n"
           "const recordpipe::ExampleSchema schema = {\n" +
           code.features("    ") + "};\n" + code.left_out_names();
  }
  return "#include \"recordpipe/example/parse_sequence_example.h\"\n\n"
         "const recordpipe::SequenceExampleSchema schema = {\n"
         "    .context =\n        {\n" +
         code.features("            ") + "        },\n    .feature_lists =\n        {\n" +
         code.feature_lists("            ") + "        },\n};\n" + code.left_out_names();
}

std::string schema_as_python(const InferredSchema& schema) {
  return schema_in_python<kRecordpipeNames>(schema);
}

std::string schema_as_tensorflow(const InferredSchema& schema) {
  return schema_in_python<kTensorflowNames>(schema);
}

}  // namespace recordpipe
