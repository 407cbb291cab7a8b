#include "dataset/example/message_fields.h"

#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/example/internal/wire_reader.h"

namespace recordpipe {
namespace {

constexpr const char* kBadKey = "a key that is not UTF-8";

class FieldChecker {
 public:
  explicit FieldChecker(const std::byte* start) : start_(start) {}

  void check_example(WireReader example) {
    Once features;
    each_field(example, "an Example", [&](uint32_t tag, WireReader& fields) {
      if (tag != length_delimited_tag(kExampleFeatures)) return false;
      check_features(fields.read_message(), features);
      return true;
    });
  }

  void check_sequence(WireReader sequence) {
    Once context;
    Once lists;
    each_field(sequence, "a SequenceExample", [&](uint32_t tag, WireReader& fields) {
      if (tag == length_delimited_tag(kSequenceContext)) {
        check_features(fields.read_message(), context);
      } else if (tag == length_delimited_tag(kSequenceFeatureLists)) {
        const WireReader message = fields.read_message();
        check_empty(message, "FeatureLists", lists);
        check_map(message, "FeatureLists",
                  [&](WireReader value, uint32_t&) { check_feature_list(value); });
      } else {
        return false;
      }
      return true;
    });
  }

  void check_example_list(WireReader list) {
    bool has_context = false;
    each_field(list, "an ExampleListWithContext", [&](uint32_t tag, WireReader& fields) {
      const std::byte* const at = last_field_;
      if (tag == length_delimited_tag(kListContext)) {
        if (std::exchange(has_context, true)) note(at, "a second context", /*is_replaced=*/false);
      } else if (tag != length_delimited_tag(kListExamples)) {
        return false;
      }
      check_example(fields.read_message());
      return true;
    });
  }

  void check_event(WireReader event) {
    each_field(event, "an Event", [&](uint32_t tag, WireReader& fields) {
      if (!is_event_field(tag)) return false;
      fields.skip(tag);
      return true;
    });
  }

  std::optional<UnreadField> found() {
    if (first_entry_ && !any_value_) {
      note(first_entry_, "map entries without a value", /*is_replaced=*/false);
    }
    return std::move(found_);
  }

 private:
  // The messages of one field, which protobuf's parser merges.
  struct Once {
    size_t count = 0;
    size_t empty = 0;
  };

  void check_features(WireReader features, Once& messages) {
    check_empty(features, "Features", messages);
    check_map(features, "Features",
              [&](WireReader value, uint32_t& first) { check_feature(value, first); });
  }

  // Merging loses nothing, except how many of the messages are empty.
  void check_empty(const WireReader& message, std::string_view name, Once& messages) {
    ++messages.count;
    messages.empty += message.done() ? 1 : 0;
    if (messages.count > 1 && messages.empty > 0) {
      note(last_field_, "an empty " + std::string(name) + " beside others", /*is_replaced=*/true);
    }
  }

  // Calls visit(tag, reader) for each field; it reads the field, or returns false if the message
  // has no such field.
  template <typename Visit>
  void each_field(WireReader message, std::string_view name, Visit visit) {
    while (!is_decided() && !message.done()) {
      const std::byte* const at = message.rest().data();
      last_field_ = at;
      const uint32_t tag = message.read_tag();
      if (visit(tag, message)) continue;
      note(at, "field " + std::to_string(tag >> 3) + " of " + std::string(name),
           /*is_replaced=*/false);
    }
  }

  // `check_value` is called with each piece of an entry's value, and a number that is 0 at the
  // first of them.
  template <typename CheckValue>
  void check_map(WireReader map, std::string_view name, CheckValue check_value) {
    each_field(map, name, [&](uint32_t tag, WireReader& fields) {
      if (tag != length_delimited_tag(kFeaturesEntry)) return false;
      const std::byte* const at = last_field_;
      if (!first_entry_) first_entry_ = at;
      size_t keys = 0;
      uint32_t of_value = 0;
      each_field(fields.read_message(), "a map entry", [&](uint32_t in_entry, WireReader& entry) {
        if (in_entry == length_delimited_tag(kEntryKey)) {
          const auto key = entry.read_bytes();
          if (!is_utf8({reinterpret_cast<const char*>(key.data()), key.size()})) {
            note(last_field_, kBadKey, /*is_replaced=*/true);
          }
          ++keys;
        } else if (in_entry == length_delimited_tag(kEntryValue)) {
          any_value_ = true;
          check_value(entry.read_message(), of_value);
        } else {
          return false;
        }
        return true;
      });
      if (keys > 1) note(at, "a map entry with several keys", /*is_replaced=*/true);
      return true;
    });
  }

  void check_feature_list(WireReader list) {
    each_field(list, "a FeatureList", [&](uint32_t tag, WireReader& fields) {
      if (tag != length_delimited_tag(kFeatureListFeature)) return false;
      uint32_t first = 0;
      check_feature(fields.read_message(), first);
      return true;
    });
  }

  // `first`: the tag of the first list, 0 if there was none; a map entry may split its Feature into
  // pieces.
  void check_feature(WireReader feature, uint32_t& first) {
    each_field(feature, "a Feature", [&](uint32_t tag, WireReader& fields) {
      const std::byte* const at = last_field_;
      WireType single = WireType::length_delimited;
      if (tag == length_delimited_tag(kFeatureFloatList)) {
        single = WireType::fixed32;
      } else if (tag == length_delimited_tag(kFeatureInt64List)) {
        single = WireType::varint;
      } else if (tag != length_delimited_tag(kFeatureBytesList)) {
        return false;
      }
      check_values(fields.read_message(), single);
      if (first != 0 && tag != first) {
        note(at, "a Feature with lists of several kinds", /*is_replaced=*/true);
      }
      first = tag;
      return true;
    });
  }

  // `single`: the wire type of a number that isn't packed.
  void check_values(WireReader list, WireType single) {
    each_field(list, "a list of values", [&](uint32_t tag, WireReader& fields) {
      if (tag >> 3 != kListValue) return false;
      if (wire_type(tag) != WireType::length_delimited && wire_type(tag) != single) return false;
      fields.skip(tag);
      return true;
    });
  }

  // A field that the parser replaces is remembered, but a later one may be unknown to it.
  bool is_decided() const { return found_ && !found_->is_replaced; }

  void note(const std::byte* at, std::string what, bool is_replaced) {
    if (is_decided() || (found_ && is_replaced)) return;
    found_ = UnreadField{.offset = static_cast<uint64_t>(at - start_),
                         .what = std::move(what),
                         .is_replaced = is_replaced};
  }

  const std::byte* const start_;
  const std::byte* last_field_ = nullptr;
  const std::byte* first_entry_ = nullptr;
  bool any_value_ = false;
  std::optional<UnreadField> found_;
};

}  // namespace

std::optional<UnreadField> find_unread_field(std::span<const std::byte> record, MessageKind kind) {
  FieldChecker checker(record.data());
  const WireReader message(record);
  if (kind == MessageKind::example) checker.check_example(message);
  if (kind == MessageKind::sequence_example) checker.check_sequence(message);
  if (kind == MessageKind::example_list) checker.check_example_list(message);
  if (kind == MessageKind::event) checker.check_event(message);
  return checker.found();
}

std::optional<UnreadField> find_bad_key(std::span<const std::byte> record, MessageKind kind) {
  try {
    auto field = find_unread_field(record, kind);
    return field && field->what == kBadKey ? std::move(field) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Of TensorFlow's event.proto: wall_time, step; file_version, graph_def, summary, log_message,
// session_log, tagged_run_metadata, meta_graph_def, source_metadata.
bool is_event_field(uint32_t tag) {
  constexpr uint32_t kFileVersion = 3, kSourceMetadata = 10;
  return tag == kWallTimeTag || tag == wire_tag(2, WireType::varint) ||
         (tag >> 3 >= kFileVersion && tag >> 3 <= kSourceMetadata &&
          wire_type(tag) == WireType::length_delimited);
}

}  // namespace recordpipe
