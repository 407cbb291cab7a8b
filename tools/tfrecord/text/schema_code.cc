#include "tools/tfrecord/text/schema_code.h"

#include <string_view>

#include <fmt/format.h>

#include "tools/tfrecord/formats/json_text.h"
#include "tools/tfrecord/text/schema_text.h"

namespace recordpipe {
namespace {

// What a language calls things.
struct Language {
  std::string_view comment;
  std::string (*quoted)(std::string_view text);
  // The entry of a feature's form.
  std::string (*fixed)(FeatureKind kind, uint64_t values);
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
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// JSON's escapes are Python's, too.
std::string quoted_for_python(std::string_view text) {
  JsonText json;
  json.string(text);
  return json.take();
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

std::string python_kind(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return "tf.string";
    case FeatureKind::floats:
      return "tf.float32";
    default:
      return "tf.int64";
  }
}

constexpr Language kCpp = {
    .comment = "//",
    .quoted = quoted_for_cpp,
    .fixed =
        [](FeatureKind kind, uint64_t values) {
          return fmt::format("recordpipe::FixedLen{{{}{}}}", cpp_kind(kind),
                             values == 1 ? "" : fmt::format(", {{{}}}", values));
        },
    .ragged =
        [](FeatureKind kind) { return fmt::format("recordpipe::Ragged{{{}}}", cpp_kind(kind)); },
    .fixed_steps =
        [](FeatureKind kind, uint64_t values, bool allow_missing) {
          return fmt::format("recordpipe::FixedLenSequence{{{}, {{{}}}, {}}}", cpp_kind(kind),
                             values == 1 ? "" : std::to_string(values), allow_missing);
        },
    .before_name = "{",
    .after_name = ", ",
    .after_entry = "},"};

constexpr Language kPython = {
    .comment = "#",
    .quoted = quoted_for_python,
    .fixed =
        [](FeatureKind kind, uint64_t values) {
          return fmt::format("tf.io.FixedLenFeature([{}], {})",
                             values == 1 ? "" : std::to_string(values), python_kind(kind));
        },
    .ragged =
        [](FeatureKind kind) { return fmt::format("tf.io.RaggedFeature({})", python_kind(kind)); },
    .fixed_steps =
        [](FeatureKind kind, uint64_t values, bool allow_missing) {
          return fmt::format("tf.io.FixedLenSequenceFeature([{}], {}{})",
                             values == 1 ? "" : std::to_string(values), python_kind(kind),
                             allow_missing ? ", allow_missing=True" : "");
        },
    .before_name = "",
    .after_name = ": ",
    .after_entry = ","};

// Why a feature can't be in a schema; empty where it can.
std::string_view left_out(const InferredFeature& feature) {
  if (!feature.kind()) return "lists of several kinds";
  return *feature.kind() == FeatureKind::none ? "never a list" : "";
}

class CodeWriter {
 public:
  CodeWriter(const InferredSchema& schema, const Language& language)
      : schema_(schema),
        language_(language),
        records_(schema.count(MessageKind::example) + schema.count(MessageKind::sequence_example)) {
  }

  std::string features(std::string_view indent) const {
    std::string out;
    for (const auto& [name, feature] : schema_.features) {
      const bool fixed =
          feature.fixed() && feature.max_values > 0 && feature.with_list() == records_;
      out += entry(indent, name, feature, [&](FeatureKind kind) {
        return fixed ? language_.fixed(kind, feature.max_values) : language_.ragged(kind);
      });
    }
    return out;
  }

  std::string feature_lists(std::string_view indent) const {
    std::string out;
    for (const auto& [name, list] : schema_.feature_lists) {
      const InferredFeature& step = list.step;
      const bool fixed = step.fixed() && step.max_values > 0 && step.count(FeatureKind::none) == 0;
      out += entry(indent, name, step, [&](FeatureKind kind) {
        return fixed ? language_.fixed_steps(kind, step.max_values, list.records < records_)
                     : language_.ragged(kind);
      });
    }
    return out;
  }

  // What isn't in the code, for too many names.
  std::string left_out_names() const {
    if (schema_.left_out == 0) return "";
    return fmt::format("{} Features of other names, {} in all, which were not kept.\n",
                       language_.comment, schema_.left_out);
  }

 private:
  template <typename Form>
  std::string entry(std::string_view indent, std::string_view name, const InferredFeature& feature,
                    Form form) const {
    const std::string_view reason = left_out(feature);
    if (!reason.empty()) {
      return fmt::format("{}{} {}: {}\n", indent, language_.comment, language_.quoted(name),
                         reason);
    }
    return fmt::format("{}{}{}{}{}{}\n", indent, language_.before_name, language_.quoted(name),
                       language_.after_name, form(*feature.kind()), language_.after_entry);
  }

  const InferredSchema& schema_;
  const Language& language_;
  const uint64_t records_;
};

}  // namespace

std::string schema_as_cpp(const InferredSchema& schema) {
  const CodeWriter code(schema, kCpp);
  if (schema.feature_lists.empty()) {
    return "#include \"recordpipe/parse_example.h\"\n\n"
           "const recordpipe::ExampleSchema schema = {\n" +
           code.features("    ") + "};\n" + code.left_out_names();
  }
  return "#include \"recordpipe/parse_sequence_example.h\"\n\n"
         "const recordpipe::SequenceExampleSchema schema = {\n"
         "    .context =\n        {\n" +
         code.features("            ") + "        },\n    .feature_lists =\n        {\n" +
         code.feature_lists("            ") + "        },\n};\n" + code.left_out_names();
}

std::string schema_as_python(const InferredSchema& schema) {
  const CodeWriter code(schema, kPython);
  if (schema.feature_lists.empty()) {
    return "import tensorflow as tf\n\nfeatures = {\n" + code.features("    ") + "}\n" +
           code.left_out_names();
  }
  return "import tensorflow as tf\n\ncontext_features = {\n" + code.features("    ") +
         "}\nsequence_features = {\n" + code.feature_lists("    ") + "}\n" + code.left_out_names();
}

}  // namespace recordpipe
