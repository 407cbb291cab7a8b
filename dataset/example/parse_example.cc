#include "recordpipe/example/parse_example.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "dataset/base/in_record.h"
#include "dataset/base/names_in_words.h"
#include "dataset/example/column_helpers.h"
#include "dataset/example/example_list.h"
#include "dataset/example/message_fields.h"
#include "dataset/example/prefetch_bytes.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/example/parse_sequence_example.h"

namespace recordpipe {
namespace {

// The features of a record, after one that it doesn't have: "there are label, image".
std::string features_in_words(const Record& record,
                              std::initializer_list<const WantedFeatures*> schemas) {
  MessageView message;
  message.read(record.data);
  std::vector<std::string> names;
  for (const NamedFeature& feature : message.features()) names.emplace_back(feature.name);
  for (const FeatureListView& list : message.feature_lists()) names.emplace_back(list.name());
  for (const WantedFeatures* const wanted : schemas) {
    for (size_t i = 0; i < wanted->size(); ++i) {
      const WantedFeature& feature = (*wanted)[i];
      const bool is_here = std::ranges::find(names, feature.name) != names.end();
      if (feature.required && !is_here) return there_are(std::move(names), feature.name);
    }
  }
  return {};
}

// Whether the record is an ExampleListWithContext that has features; without, it may be anything.
bool is_list_of_examples(const Record& record) {
  MessageView message;
  message.read(record.data);
  const bool has_any = !message.features().empty() || !message.feature_lists().empty();
  return has_any && message.kind() == MessageKind::example_list;
}

// Returns `error` with the record's place. If a feature is missing, the hint names those that there
// are. A list of Examples is called so.
Error placed(const Error& error, const Record& record,
             std::initializer_list<const WantedFeatures*> schemas) {
  Error::Parts parts = error.parts();
  const bool is_missing = error.kind() == ErrorKind::not_found;
  if ((is_missing || error.kind() == ErrorKind::corrupted) && is_list_of_examples(record)) {
    parts.offset.reset();
    parts.reason = "an ExampleListWithContext where an Example was expected,";
    parts.hint = "parse_example_list (C++: SequenceExampleSchema::of_example_lists) reads it";
  } else if (is_missing) {
    const std::string features = features_in_words(record, schemas);
    if (!features.empty()) parts.hint += "; " + features;
  }
  return in_record(Error(std::move(parts)), record.path, record.offset);
}

// The feature lists of a SequenceExample, of which an ExampleCollator reads the context only.
// Returns the kind of the record.
MessageKind meet_feature_lists(const UnlistedFeatures& unlisted, const Record& record,
                               std::vector<std::string>& met) {
  MessageKind kind = MessageKind::example;
  read_messages(WireReader(record.data), kSequenceFeatureLists, [&](WireReader lists) {
    kind = MessageKind::sequence_example;
    read_messages(lists, kFeatureListsEntry, [&](WireReader entry) {
      bool has_steps = false;
      const std::string_view key =
          check_entry(entry, [&](WireReader list) { has_steps = has_steps || !list.done(); });
      if (has_steps) add_unlisted(unlisted.meet("feature list", key), met);
    });
  });
  return kind;
}

// A field of the message that no column holds.
void meet_field(const UnlistedFeatures& unlisted, const Record& record, MessageKind kind,
                std::vector<std::string>& met) {
  if (auto field = find_unread_field(record.data, kind)) {
    add_unlisted(unlisted.meet(std::move(field->what)), met);
  }
}

// The error of a record with none of the wanted features; nothing if all its bytes are fields of a
// message of this kind, perhaps with values that later ones replace.
std::optional<Error> other_message(const Record& record, MessageKind kind) {
  MessageView wanted(kind);
  wanted.read(record.data);
  const auto unread = wanted.unread();
  if (wanted.kind() == kind && (!unread || unread->is_replaced)) return std::nullopt;
  MessageView message;
  message.read(record.data);
  std::string what = message.undecided();
  if (what.empty()) what = "of type " + std::string(to_string(message.kind()));
  Error::Parts parts{.kind = ErrorKind::unsupported,
                     .path = std::string(record.path),
                     .reason = "a record that is no " + std::string(to_string(kind)) + " (" + what +
                               ") and has none of the features that are parsed",
                     .hint = "if it is one all the same, parse a feature that it has, too"};
  if (!record.path.empty()) parts.offset = record.offset;
  return Error(std::move(parts));
}

// What a record needs that may be another message, or has something that no column holds, of which
// `met` is a part. `schemas`: for messages.
void look_into_unusual(const Record& record, MessageKind kind, bool has_any, OtherMessages others,
                       bool is_usual, std::vector<std::string> met,
                       std::initializer_list<const WantedFeatures*> schemas) {
  if (!is_usual && !has_any && others == OtherMessages::refuse) {
    if (const std::optional<Error> other = other_message(record, kind)) throw *other;
  }
  UnlistedFeatures* const unlisted = (*schemas.begin())->unlisted();
  if (!unlisted) return;
  try {
    if (!is_usual) {
      if (kind == MessageKind::example) kind = meet_feature_lists(*unlisted, record, met);
      meet_field(*unlisted, record, kind, met);
    }
  } catch (const Error& error) {
    throw placed(error, record, schemas);
  }
  if (!met.empty()) unlisted->count(met, record);
}

template <class Collator>
typename Collator::Batch parse(std::span<const Record> records, const Collator& features,
                               typename Collator::Batch batch) {
  features.reset(batch, records.size());
  for (size_t row = 0; row < records.size(); ++row) {
    if (row + kPrefetchAhead < records.size()) prefetch_bytes(records[row + kPrefetchAhead].data);
    features.set(batch, row, records[row]);
  }
  features.finish(batch);
  return batch;
}

}  // namespace

ExampleCollator::ExampleCollator(const ExampleSchema& schema,
                                 std::shared_ptr<UnlistedFeatures> unlisted, OtherMessages others)
    : wanted_(std::make_shared<WantedFeatures>(schema, std::move(unlisted))),
      others_(schema.empty() ? OtherMessages::accept : others) {}

void ExampleCollator::reset(ExampleBatch& batch, size_t rows) const {
  batch.features_.reset(wanted_, rows);
  batch.records_.clear();
  batch.records_.resize(rows);
}

void ExampleCollator::set(ExampleBatch& batch, size_t row, Record record) const {
  FeatureColumns::Row to(batch.features_, row);
  bool is_usual = true;
  try {
    read_messages(
        read_example(record.data), kExampleFeatures,
        [&](WireReader features) { to.read(features); }, [&] { is_usual = false; });
    to.end();
  } catch (const Error& error) {
    throw placed(error, record, {wanted_.get()});
  }
  is_usual = is_usual && to.is_usual();
  if (!is_usual || !to.unlisted().empty()) [[unlikely]] {
    look_into_unusual(record, MessageKind::example, to.has_any(), others_, is_usual, to.unlisted(),
                      {wanted_.get()});
  }
  batch.records_[row] = std::move(record);
}

void ExampleCollator::set(ExampleBatch& batch, size_t row, Record record,
                          const Record& next) const {
  prefetch_bytes(next.data);
  set(batch, row, std::move(record));
}

void ExampleCollator::finish(ExampleBatch& batch) const {
  batch.features_.finish();
  batch.records_.clear();
}

std::vector<Parameter> ExampleCollator::parameters() const {
  return {{"features", wanted_->text()}};
}

ExampleBatch parse_example(std::span<const Record> records, const ExampleCollator& features,
                           ExampleBatch reuse) {
  return parse(records, features, std::move(reuse));
}

ExampleBatch parse_single_example(const Record& record, const ExampleCollator& features,
                                  ExampleBatch reuse) {
  return parse_example(std::span(&record, 1), features, std::move(reuse));
}

SequenceExampleCollator::SequenceExampleCollator(const SequenceExampleSchema& schema,
                                                 std::shared_ptr<UnlistedFeatures> unlisted,
                                                 OtherMessages others)
    : context_(std::make_shared<WantedFeatures>(schema.context, unlisted)),
      feature_lists_(std::make_shared<WantedFeatures>(schema.feature_lists, unlisted)),
      of_example_lists_(schema.of_example_lists),
      others_(schema.context.empty() && schema.feature_lists.empty() ? OtherMessages::accept
                                                                     : others) {}

void SequenceExampleCollator::reset(SequenceExampleBatch& batch, size_t rows) const {
  batch.context_.reset(context_, rows);
  batch.feature_lists_.reset(feature_lists_, rows);
  batch.records_.clear();
  batch.records_.resize(rows);
}

void SequenceExampleCollator::set(SequenceExampleBatch& batch, size_t row, Record record) const {
  FeatureColumns::Row context(batch.context_, row);
  std::vector<std::string> met;
  ConvertedList converted;
  bool is_usual = true;
  try {
    if (of_example_lists_) converted = as_sequence_example(record);
    WireReader message = read_example((of_example_lists_ ? converted.record : record).data);
    while (!message.done()) {
      const uint32_t tag = message.read_tag();
      if (tag == length_delimited_tag(kSequenceContext)) {
        context.read(message.read_message());
      } else if (tag == length_delimited_tag(kSequenceFeatureLists)) {
        is_usual &= batch.feature_lists_.read(row, message.read_message(), met);
      } else {
        is_usual = false;
        message.skip(tag);
      }
    }
    context.end();
    batch.feature_lists_.end_row(row);
  } catch (const Error& error) {
    throw placed(error, record, {context_.get(), feature_lists_.get()});
  }
  is_usual = is_usual && converted.is_usual && context.is_usual();
  met.insert(met.end(), context.unlisted().begin(), context.unlisted().end());
  if (!is_usual || !met.empty()) [[unlikely]] {
    look_into_unusual(record,
                      of_example_lists_ ? MessageKind::example_list : MessageKind::sequence_example,
                      context.has_any() || batch.feature_lists_.has_any(row), others_, is_usual,
                      std::move(met), {context_.get(), feature_lists_.get()});
  }
  batch.records_[row] = std::move(of_example_lists_ ? converted.record : record);
}

void SequenceExampleCollator::set(SequenceExampleBatch& batch, size_t row, Record record,
                                  const Record& next) const {
  prefetch_bytes(next.data);
  set(batch, row, std::move(record));
}

void SequenceExampleCollator::finish(SequenceExampleBatch& batch) const {
  batch.context_.finish();
  batch.feature_lists_.finish();
  batch.records_.clear();
}

std::vector<Parameter> SequenceExampleCollator::parameters() const {
  return {{"context", context_->text()},
          {of_example_lists_ ? "examples" : "feature_lists", feature_lists_->text()}};
}

SequenceExampleBatch parse_sequence_example(std::span<const Record> records,
                                            const SequenceExampleCollator& features,
                                            SequenceExampleBatch reuse) {
  return parse(records, features, std::move(reuse));
}

SequenceExampleBatch parse_single_sequence_example(const Record& record,
                                                   const SequenceExampleCollator& features,
                                                   SequenceExampleBatch reuse) {
  return parse_sequence_example(std::span(&record, 1), features, std::move(reuse));
}

}  // namespace recordpipe
