#include "python/native/dataset/other_messages.h"

#include <cstdint>
#include <optional>
#include <variant>

#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe::python {
namespace {

bool is_required(const FixedLen& feature) { return feature.default_values.index() == 0; }
bool is_required(const Ragged& /*feature*/) { return false; }
bool is_required(const SerializedTensor& feature) { return !feature.allow_missing; }
bool is_required(const FixedLenSequence& feature) { return !feature.allow_missing; }

// Adds the names of a schema; returns false if one is required.
template <class Schema>
bool add_optional(const Schema& schema, std::vector<std::string>& names) {
  for (const auto& [name, feature] : schema) {
    if (std::visit([](const auto& some) { return is_required(some); }, feature)) return false;
    names.push_back(name);
  }
  return true;
}

// The rows that have one of the features.
class Rows {
 public:
  template <class Columns>
  void add(const Columns& columns, std::span<const std::string> names) {
    for (const std::string& name : names) {
      if (have_all_) return;
      std::vector<uint8_t> bits = columns.validity(name);
      have_all_ = bits.empty();
      for (size_t i = 0; i < bits_.size() && !have_all_; ++i) bits[i] |= bits_[i];
      bits_.swap(bits);
    }
  }
  bool have_all() const { return have_all_; }
  bool has(size_t row) const { return have_all_ || (bits_[row / 8] >> row % 8 & 1) != 0; }

 private:
  bool have_all_ = false;
  std::vector<uint8_t> bits_;
};

// What the record is; nothing if it is an Example, perhaps with values that later ones replace.
std::optional<std::string> other_message(const Record& record) {
  MessageView message;
  message.read(record.data);
  const MessageKind kind = message.kind();
  if (kind == MessageKind::example || kind == MessageKind::sequence_example) return std::nullopt;
  MessageView example(MessageKind::example);
  example.read(record.data);
  if (const auto unread = example.unread(); unread && unread->is_replaced) return std::nullopt;
  const std::string undecided = message.undecided();
  return undecided.empty() ? "of type " + std::string(to_string(kind)) : undecided;
}

void refuse_others(const Rows& rows, std::span<const Record> records) {
  for (size_t i = 0; i < records.size() && !rows.have_all(); ++i) {
    if (rows.has(i * OtherMessages::kEvery)) continue;
    const Record& record = records[i];
    const auto what = other_message(record);
    if (!what) continue;
    Error::Parts parts{.kind = ErrorKind::unsupported,
                       .path = std::string(record.path),
                       .reason = "a record that is no Example (" + *what +
                                 ") and has none of the features that are parsed",
                       .hint = "if it is one all the same, parse a feature that it has, too"};
    if (!record.path.empty()) parts.offset = record.offset;
    throw Error(std::move(parts));
  }
}

}  // namespace

OtherMessages::OtherMessages(const ExampleSchema& features, const FeatureListSchema& lists) {
  if (add_optional(features, features_) && add_optional(lists, lists_)) return;
  features_.clear();
  lists_.clear();
}

void OtherMessages::refuse(const ExampleBatch& batch, std::span<const Record> records) const {
  Rows rows;
  rows.add(batch, features_);
  refuse_others(rows, records);
}

void OtherMessages::refuse(const SequenceExampleBatch& batch,
                           std::span<const Record> records) const {
  Rows rows;
  rows.add(batch.context(), features_);
  rows.add(batch.feature_lists(), lists_);
  refuse_others(rows, records);
}

}  // namespace recordpipe::python
