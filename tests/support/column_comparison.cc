#include "tests/support/column_comparison.h"

#include <map>
#include <optional>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/expected_values.h"

namespace recordpipe {
namespace {

// The properties of each kind of message that the comparison needs.
struct AsExample {
  static constexpr bool kHasLists = false;
  using Message = proto::Example;
  using Batch = ExampleBatch;
  static ExampleCollator collator(const SequenceExampleSchema& schema) {
    return ExampleCollator(schema.context);
  }
  static const proto::Features& features(const Message& message) { return message.features(); }
  static const proto::FeatureLists& lists(const Message&) {
    return proto::FeatureLists::default_instance();
  }
  static const ExampleBatch& features(const Batch& batch) { return batch; }
  static const FeatureListColumns& lists(const Batch&) {
    static const FeatureListColumns none;
    return none;
  }
};

struct AsSequence {
  static constexpr bool kHasLists = true;
  using Message = proto::SequenceExample;
  using Batch = SequenceExampleBatch;
  static SequenceExampleCollator collator(const SequenceExampleSchema& schema) {
    return SequenceExampleCollator(schema);
  }
  static const proto::Features& features(const Message& message) { return message.context(); }
  static const proto::FeatureLists& lists(const Message& message) {
    return message.feature_lists();
  }
  static const FeatureColumns& features(const Batch& batch) { return batch.context(); }
  static const FeatureListColumns& lists(const Batch& batch) { return batch.feature_lists(); }
};

// The expected result of a record: an error that names a feature, or the values of features by
// name, and the values of feature lists step by step.
struct Expected {
  std::optional<ErrorKind> error;
  std::string culprit;
  std::map<std::string, ExpectedValues> features;
  std::map<std::string, std::vector<ExpectedValues>> lists;

  void fail(ErrorKind kind, const std::string& name) {
    if (error) return;  // the first one is kept
    error = kind;
    culprit = "'" + printable(name) + "'";
  }
};

size_t values_in(const std::vector<size_t>& shape) {
  size_t values = 1;
  for (const size_t dimension : shape) values *= dimension;
  return values;
}

template <class Fixed, class Form>
FeatureKind wanted_kind(const Form& form) {
  const auto* fixed = std::get_if<Fixed>(&form);
  return fixed ? fixed->kind : std::get<Ragged>(form).kind;
}

void expect_features(const proto::Features& features, const ExampleSchema& schema, Expected& out) {
  for (const auto& [name, form] : schema) {
    const auto at = features.feature().find(name);
    const ExpectedValues found =
        at == features.feature().end() ? ExpectedValues() : expected_values(at->second);
    const auto* fixed = std::get_if<FixedLen>(&form);
    const FeatureKind kind = wanted_kind<FixedLen>(form);
    if (kind_of(found) == FeatureKind::none) {
      out.features[name] = fixed ? expected_values(fixed->default_values) : nothing_of(kind);
      if (fixed && fixed->default_values.index() == 0) out.fail(ErrorKind::not_found, name);
    } else if (kind_of(found) != kind || (fixed && size_of(found) != values_in(fixed->shape))) {
      out.fail(ErrorKind::unsupported, name);
    } else {
      out.features[name] = found;
    }
  }
}

void expect_lists(const proto::FeatureLists& lists, const FeatureListSchema& schema,
                  Expected& out) {
  for (const auto& [name, form] : schema) {
    std::vector<ExpectedValues>& steps = out.lists[name];
    const auto* fixed = std::get_if<FixedLenSequence>(&form);
    const FeatureKind kind = wanted_kind<FixedLenSequence>(form);
    const auto at = lists.feature_list().find(name);
    if (at == lists.feature_list().end()) {
      if (fixed && !fixed->allow_missing) out.fail(ErrorKind::not_found, name);
      continue;
    }
    for (const proto::Feature& feature : at->second.feature()) {
      ExpectedValues step = expected_values(feature);
      if (kind_of(step) == FeatureKind::none) step = nothing_of(kind);
      if (kind_of(step) != kind || (fixed && size_of(step) != values_in(fixed->shape))) {
        out.fail(ErrorKind::unsupported, name);
      }
      steps.push_back(std::move(step));
    }
  }
}

// A message and what protobuf has read from it, if it accepts the message.
template <class As>
struct Row {
  explicit Row(std::span<const std::byte> data)
      : bytes(data), accepted(message.ParseFromArray(data.data(), static_cast<int>(data.size()))) {
    if (!accepted) message.Clear();
  }

  std::span<const std::byte> bytes;
  typename As::Message message;
  bool accepted;
};

template <class As>
Expected expect(const Row<As>& row, const SequenceExampleSchema& schema) {
  Expected expected;
  if (row.accepted) {
    expect_features(As::features(row.message), schema.context, expected);
    expect_lists(As::lists(row.message), schema.feature_lists, expected);
  } else {
    expected.error = ErrorKind::corrupted;
  }
  return expected;
}

template <class Columns>
ExpectedValues values_found(const Columns& columns, const std::string& name,
                            const ExampleSchema::mapped_type& form, size_t row) {
  return with_kind(wanted_kind<FixedLen>(form), [&](auto kind) {
    return std::holds_alternative<FixedLen>(form)
               ? expected_values(columns.template dense<kind>(name).row(row))
               : expected_values(columns.template ragged<kind>(name).row(row));
  });
}

std::vector<ExpectedValues> steps_found(const FeatureListColumns& columns, const std::string& name,
                                        const FeatureListSchema::mapped_type& form, size_t row) {
  return with_kind(wanted_kind<FixedLenSequence>(form), [&](auto kind) {
    std::vector<ExpectedValues> steps;
    if (std::holds_alternative<FixedLenSequence>(form)) {
      const auto column = columns.template dense<kind>(name);
      for (size_t step = 0; step < column.items(row); ++step) {
        steps.push_back(
            expected_values(column.row(row).subspan(step * column.item_size, column.item_size)));
      }
    } else {
      const auto column = columns.template ragged<kind>(name);
      for (size_t step = 0; step < column.steps(row); ++step) {
        steps.push_back(expected_values(column.step(row, step)));
      }
    }
    return steps;
  });
}

std::string difference(const Expected& expected, const std::optional<Error>& error) {
  if (!error) return expected.error ? "accepted in spite of " + expected.culprit : "";
  const std::string what = error->what();
  if (!expected.error) return "refused: " + what;
  if (error->kind() != *expected.error) return "an error of another kind: " + what;
  return what.find(expected.culprit) == std::string::npos ? "another culprit: " + what : "";
}

// Decodes `rows` into `batch` and compares each row with its expected result.
template <class As, class Collator>
std::string difference(const std::vector<const Row<As>*>& rows, const SequenceExampleSchema& schema,
                       const Collator& collator, typename As::Batch& batch) {
  std::map<const Row<As>*, Expected> expected;
  collator.reset(batch, rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto [wanted, is_new] = expected.try_emplace(rows[row]);
    if (is_new) wanted->second = expect(*rows[row], schema);
    std::optional<Error> error;
    try {
      collator.set(batch, row, {.data = rows[row]->bytes});
    } catch (const Error& thrown) {
      error = thrown;
    }
    const std::string other = difference(wanted->second, error);
    if (!other.empty()) return other;
    if (error) return batch.size() == 0 ? "" : "rows after an error";
  }
  collator.finish(batch);
  if (batch.size() != rows.size()) return "another number of rows";
  for (size_t row = 0; row < rows.size(); ++row) {
    const Expected& wanted = expected.at(rows[row]);
    for (const auto& [name, values] : wanted.features) {
      if (values_found(As::features(batch), name, schema.context.at(name), row) != values) {
        return "other values of '" + name + "' in row " + std::to_string(row);
      }
    }
    for (const auto& [name, steps] : wanted.lists) {
      if (steps_found(As::lists(batch), name, schema.feature_lists.at(name), row) != steps) {
        return "other steps of '" + name + "' in row " + std::to_string(row);
      }
    }
  }
  return "";
}

// Half of the features that may have a fixed shape get one.
bool is_even(const std::string& name) { return (name.size() + name[0]) % 2 == 0; }

// Returns a schema of the existing features of a message, and a missing one. If the kinds differ
// between the steps of a list, no kind fits; then the first kind is requested.
SequenceExampleSchema fitting_schema(const proto::Features& features,
                                     const proto::FeatureLists& lists) {
  SequenceExampleSchema schema;
  schema.context["not there"] =
      FixedLen{FeatureKind::bytes, {2}, some_defaults(FeatureKind::bytes, 2)};
  for (const auto& [name, feature] : features.feature()) {
    const ExpectedValues values = expected_values(feature);
    const FeatureKind kind =
        kind_of(values) == FeatureKind::none ? FeatureKind::floats : kind_of(values);
    const size_t size = size_of(values);
    schema.context[name] = Ragged{kind};
    if (size > 0 && is_even(name)) {
      schema.context[name] = FixedLen{kind, {1, size}, some_defaults(kind, size)};
    }
  }
  for (const auto& [name, list] : lists.feature_list()) {
    FeatureKind kind = FeatureKind::none;
    size_t size = 0;
    for (const proto::Feature& feature : list.feature()) {
      const ExpectedValues values = expected_values(feature);
      if (kind == FeatureKind::none) kind = kind_of(values), size = size_of(values);
      if (size != size_of(values)) size = 0;
    }
    if (kind == FeatureKind::none) kind = FeatureKind::int64s;
    schema.feature_lists[name] = Ragged{kind};
    if (size > 0 && is_even(name)) {
      schema.feature_lists[name] = FixedLenSequence{kind, {size}, /*allow_missing=*/true};
    }
  }
  return schema;
}

// Returns schemas of one feature each, with a kind and shape that may or may not fit.
std::vector<SequenceExampleSchema> other_schemas(bool lists) {
  std::vector<SequenceExampleSchema> schemas;
  for (const char* name : {"a", "label"}) {
    for (const FeatureKind kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::int64s}) {
      schemas.push_back({.context = {{name, FixedLen{kind}}}});
      schemas.push_back({.context = {{name, FixedLen{kind, {2}, some_defaults(kind, 2)}}}});
      schemas.push_back({.context = {{name, Ragged{kind}}}});
      if (!lists) continue;
      schemas.push_back({.feature_lists = {{name, FixedLenSequence{kind, {}, true}}}});
      schemas.push_back({.feature_lists = {{name, FixedLenSequence{kind, {2}}}}});
      schemas.push_back({.feature_lists = {{name, Ragged{kind}}}});
    }
  }
  return schemas;
}

template <class As>
std::string difference(std::span<const std::byte> bytes) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  const Row<As> empty(bytes.first(0)), row(bytes);
  const SequenceExampleSchema fitting =
      fitting_schema(As::features(row.message), As::lists(row.message));
  const auto collator = As::collator(fitting);
  typename As::Batch batch;
  // The second batch is shorter and reuses the memory of the first.
  for (const auto& rows : {std::vector{&empty, &row, &empty, &row}, {&row}}) {
    const std::string found = difference<As>(rows, fitting, collator, batch);
    if (!found.empty()) return "under a schema that fits: " + found;
  }
  static const std::vector<SequenceExampleSchema> others = other_schemas(As::kHasLists);
  static const auto collators = [] {
    std::vector<decltype(As::collator({}))> all;
    for (const SequenceExampleSchema& schema : others) all.push_back(As::collator(schema));
    return all;
  }();
  // What protobuf refuses is refused under any schema, at the cost of an exception: six of them, by
  // the message, are enough.
  const size_t step = row.accepted ? 1 : others.size() / 6;
  for (size_t i = row.accepted ? 0 : bytes.size() % step; i < others.size(); i += step) {
    const std::string found = difference<As>({&row, &row}, others[i], collators[i], batch);
    if (!found.empty()) return "under schema " + std::to_string(i) + ": " + found;
  }
  return "";
}

}  // namespace

std::string example_column_difference(std::span<const std::byte> bytes) {
  return difference<AsExample>(bytes);
}

std::string sequence_column_difference(std::span<const std::byte> bytes) {
  return difference<AsSequence>(bytes);
}

}  // namespace recordpipe
