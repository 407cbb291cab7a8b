#include "recordpipe/example/message_view.h"

#include <algorithm>
#include <map>

#include "dataset/example/event_view.h"
#include "dataset/example/example_list.h"
#include "dataset/example/message_fields.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {
namespace {

std::string_view name_of(const NamedFeature& feature) { return feature.name; }
std::string_view name_of(const FeatureListView& list) { return list.name(); }

// Sorts by name and keeps the last of several entries with the same name. Returns a name that
// occurred more than once.
template <typename Named>
std::optional<std::string_view> sort_and_keep_last(std::vector<Named>& all) {
  const auto before = [](const Named& a, const Named& b) { return name_of(a) < name_of(b); };
  const auto not_before = [&](const Named& a, const Named& b) { return !before(a, b); };
  // Common: already sorted.
  if (std::ranges::adjacent_find(all, not_before) == all.end()) return std::nullopt;
  std::ranges::stable_sort(all, before);
  const auto same = [](const Named& a, const Named& b) { return name_of(a) == name_of(b); };
  const auto twice = std::ranges::adjacent_find(all, same);
  if (twice == all.end()) return std::nullopt;
  const std::string_view name = name_of(*twice);
  // unique() keeps the first of equal entries, which is the last one because the order is reversed.
  const auto kept = std::unique(all.rbegin(), all.rend(), same);
  all.erase(all.begin(), kept.base());
  return name;
}

// Collects entries. Holds at most 1024 of them or, if that is more, twice the number of distinct
// names: a name may occur millions of times.
template <typename Named>
class Collector {
 public:
  explicit Collector(std::vector<Named>& all) : all_(all) { all_.clear(); }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void add(const Named& entry) {
    if (all_.size() == limit_) {
      sort();
      limit_ = std::max(limit_, 2 * all_.size());
    }
    all_.push_back(entry);
    any_ = true;
  }
  bool any() const { return any_; }
  // Must be called at the end. Returns a name that occurred more than once.
  std::optional<std::string_view> sort() {
    if (const auto name = sort_and_keep_last(all_)) twice_ = name;
    return twice_;
  }

 private:
  std::vector<Named>& all_;
  std::optional<std::string_view> twice_;
  size_t limit_ = 1024;
  bool any_ = false;
};

// The top-level fields of a message.
struct TopFields {
  bool features = false;       // field 1 of Example and SequenceExample
  bool feature_lists = false;  // field 2 of SequenceExample
  bool wall_time = false;      // field 1 of Event
  bool other_than_event = false;
  bool other = false;  // a field that neither an Example nor a SequenceExample has
};

TopFields read_top_fields(WireReader message) {
  TopFields found;
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    found.features |= tag == length_delimited_tag(kExampleFeatures);
    found.feature_lists |= tag == length_delimited_tag(kSequenceFeatureLists);
    found.wall_time |= tag == kWallTimeTag;
    found.other_than_event |= !is_event_field(tag);
    found.other |= tag != length_delimited_tag(kExampleFeatures) &&
                   tag != length_delimited_tag(kSequenceFeatureLists);
    message.skip(tag);
  }
  return found;
}

// Whether a map entry is a key and a value, in this order, and nothing else. `entry` is validated.
bool is_key_and_value(std::span<const std::byte> entry) {
  GlanceReader fields(entry);
  return fields.read_bytes(kEntryKey) && fields.read_last(kEntryValue);
}

// "an Example except for field 5 of an Example (byte 20)"
std::string described(MessageKind kind, const UnreadField& field) {
  return (kind == MessageKind::sequence_example ? "a " : "an ") + std::string(to_string(kind)) +
         " except for " + field.what + " (byte " + std::to_string(field.offset) + ")";
}

bool has_values(const MessageView& message) {
  const auto is_set = [](const FeatureView& one) { return one.kind() != FeatureKind::none; };
  bool has_any = std::ranges::any_of(message.features(), is_set, &NamedFeature::feature);
  for (const FeatureListView& list : message.feature_lists()) {
    if (message.kind() == MessageKind::sequence_example) has_any |= list.size() > 0;
    if (!has_any) list.for_each_step([&](const FeatureView& step) { has_any |= is_set(step); });
  }
  return has_any;
}

bool is_event_with_content(std::span<const std::byte> record) {
  try {
    return read_top_fields(read_example(record)).wall_time && !read_event(record).field.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void FeatureListView::for_each_step(
    const std::function<void(const FeatureView& step)>& visit) const {
  for (const FeatureView& step : steps_) visit(step);
  read_entry_value(entry_, [&](WireReader list) {
    read_messages(list, kFeatureListFeature, [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      visit(FeatureView(step.rest(), size, /*in_entry=*/false));
    });
  });
}

void MessageView::read(std::span<const std::byte> record) {
  record_ = record;
  kind_ = MessageKind::unknown;
  if (fixed_kind_) {
    if (read_as(*fixed_kind_)) kind_ = *fixed_kind_;
  } else {
    kind_ = find_kind();
  }
  if (has_features()) return;
  features_.clear();
  feature_lists_.clear();
}

MessageKind MessageView::find_kind() {
  if (record_.empty()) return read_as(MessageKind::example) ? MessageKind::example : kind_;
  TopFields top;
  try {
    top = read_top_fields(read_example(record_));
  } catch (const Error&) {
    return MessageKind::unknown;
  }
  if (top.wall_time) return top.other_than_event ? MessageKind::unknown : MessageKind::event;
  const auto is = [&](MessageKind kind) {
    return read_as(kind) && !replaced_ && (is_usual_ || !find_unread_field(record_, kind));
  };
  if ((!top.features && !top.feature_lists) || top.other) return MessageKind::unknown;
  const MessageKind kind = top.feature_lists ? MessageKind::sequence_example : MessageKind::example;
  for (const MessageKind candidate : {kind, MessageKind::example_list}) {
    if (is(candidate)) return candidate;
  }
  return MessageKind::unknown;
}

bool MessageView::has_features() const {
  return kind_ == MessageKind::example || kind_ == MessageKind::sequence_example ||
         kind_ == MessageKind::example_list;
}

// Reads the features and feature lists of a message of this kind. Returns false for invalid bytes.
bool MessageView::read_as(MessageKind kind) {
  is_usual_ = true;
  replaced_.reset();
  feature_lists_.clear();
  try {
    switch (kind) {
      case MessageKind::sequence_example:
        read_feature_lists();
        [[fallthrough]];
      case MessageKind::example:
        read_features(record_, kind, features_);
        return true;
      case MessageKind::example_list:
        return read_example_list();
      case MessageKind::event:
        read_event(record_);
        return true;
      case MessageKind::unknown:
        return true;
    }
  } catch (const Error&) {
  }
  return false;
}

// The functions from here to read_example_list() throw Error{corrupted} for invalid bytes.

// Reads the features of an Example or of a SequenceExample's context.
void MessageView::read_features(std::span<const std::byte> record, MessageKind kind,
                                std::vector<NamedFeature>& out) {
  Collector collector(out);
  const auto on_other = [&] { is_usual_ = false; };
  size_t messages = 0;
  WireReader message = read_example(record);
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    if (tag != length_delimited_tag(kExampleFeatures)) {
      is_usual_ = is_usual_ && kind == MessageKind::sequence_example &&
                  tag == length_delimited_tag(kSequenceFeatureLists);
      message.skip(tag);
      continue;
    }
    const WireReader features = message.read_message();
    is_usual_ = is_usual_ && ++messages == 1;
    const auto on_plain = [&](const PlainEntry& plain) {
      const auto size = measure(plain.feature);
      if (!size || !is_utf8(plain.key)) return false;
      collector.add({plain.key, FeatureView(plain.entry, *size)});
      return true;
    };
    const auto on_entry = [&](std::string_view name, std::span<const std::byte> entry,
                              const FeatureSize& size) {
      is_usual_ = is_usual_ && !size.has_other && is_key_and_value(entry);
      collector.add({name, FeatureView(entry, size)});
    };
    read_entries(features, on_plain, on_entry, on_other);
  }
  note_replaced(collector.sort(), "feature");
}

void MessageView::read_feature_lists() {
  Collector collector(feature_lists_);
  const auto on_other = [&] { is_usual_ = false; };
  size_t messages = 0;
  const auto on_entry = [&](WireReader entry) {
    size_t steps = 0;
    is_usual_ = is_usual_ && is_key_and_value(entry.rest());
    const auto on_step = [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      is_usual_ = is_usual_ && !size.has_other;
      ++steps;
    };
    const std::string_view name = check_entry(entry, [&](WireReader list) {
      read_messages(list, kFeatureListFeature, on_step, on_other);
    });
    collector.add(FeatureListView(name, entry.rest(), steps));
  };
  read_messages(read_example(record_), kSequenceFeatureLists, [&](WireReader lists) {
    is_usual_ = is_usual_ && ++messages == 1;
    read_messages(lists, kFeatureListsEntry, on_entry, on_other);
  });
  note_replaced(collector.sort(), "feature list");
}

// Reads the Examples' features as columns_, with a step for each Example. Returns false if that
// takes much more memory than the record: each Example has other features.
bool MessageView::read_example_list() {
  is_usual_ = false;
  features_.clear();
  size_t examples = 0;
  read_messages(read_example(record_), kListExamples, [&](WireReader) { ++examples; });
  constexpr size_t kStepBytes = 16;  // a part of a FeatureView: views may take more than messages
  const size_t max_steps = max_step_bytes(record_.size()) / kStepBytes;
  std::map<std::string_view, size_t> columns;  // name -> index in columns_
  std::vector<std::string_view> names;
  size_t row = 0;
  bool is_too_sparse = false;
  const auto column_of = [&](std::string_view name, size_t guess) {
    if (guess < names.size() && names[guess] == name) return guess;
    const auto [found, is_new] = columns.emplace(name, names.size());
    if (!is_new) return found->second;
    names.push_back(name);
    is_too_sparse = names.size() * examples > max_steps;
    if (is_too_sparse) return found->second;
    if (names.size() > columns_.size()) columns_.emplace_back();
    columns_[found->second].assign(examples, FeatureView({}, FeatureSize(), /*in_entry=*/false));
    return found->second;
  };
  WireReader list = read_example(record_);
  while (!list.done() && !is_too_sparse) {
    const uint32_t tag = list.read_tag();
    if (tag == length_delimited_tag(kListContext)) {
      read_features(list.read_message().rest(), MessageKind::example, features_);
    } else if (tag == length_delimited_tag(kListExamples)) {
      read_features(list.read_message().rest(), MessageKind::example, in_example_);
      for (size_t i = 0; i < in_example_.size() && !is_too_sparse; ++i) {
        const size_t column = column_of(in_example_[i].name, i);
        if (!is_too_sparse) columns_[column][row] = in_example_[i].feature;
      }
      ++row;
    } else {
      list.skip(tag);
    }
  }
  if (is_too_sparse) return false;
  for (const auto& [name, column] : columns) {
    feature_lists_.push_back(FeatureListView(name, columns_[column]));
  }
  return true;
}

void MessageView::note_replaced(const std::optional<std::string_view>& name,
                                std::string_view what) {
  if (!name || replaced_) return;
  const auto* const at = reinterpret_cast<const std::byte*>(name->data());
  replaced_ = UnreadField{.offset = name->empty() ? 0 : static_cast<uint64_t>(at - record_.data()),
                          .what = "a second " + std::string(what) + " \"" + printable(*name) + "\"",
                          .is_replaced = true};
}

std::optional<UnreadField> MessageView::unread() const {
  if (!fixed_kind_ || !has_features()) return std::nullopt;
  auto field = is_usual_ ? std::nullopt : find_unread_field(record_, kind_);
  return field && !field->is_replaced ? field : replaced_ ? replaced_ : field;
}

std::string MessageView::undecided() const {
  if (fixed_kind_ || kind_ != MessageKind::unknown) return "";
  std::string without_values;
  for (const MessageKind kind :
       {MessageKind::sequence_example, MessageKind::example, MessageKind::example_list}) {
    MessageView view(kind);
    view.read(record_);
    const bool has_any =
        kind == MessageKind::example ? !view.features().empty() : !view.feature_lists().empty();
    if (!has_any) continue;
    const auto field = view.unread();
    if (field && has_values(view)) return described(kind, *field);
    if (field && without_values.empty()) without_values = described(kind, *field);
  }
  if (!without_values.empty()) return without_values;
  for (const MessageKind kind :
       {MessageKind::example, MessageKind::sequence_example, MessageKind::example_list}) {
    if (const auto key = find_bad_key(record_, kind)) return described(kind, *key);
  }
  if (!is_event_with_content(record_)) return "";
  const auto field = find_unread_field(record_, MessageKind::event);
  return field ? described(MessageKind::event, *field) : "";
}

void MessageView::keep_only(const std::function<bool(std::string_view name)>& is_wanted) {
  std::erase_if(features_, [&](const NamedFeature& f) { return !is_wanted(f.name); });
  std::erase_if(feature_lists_, [&](const FeatureListView& l) { return !is_wanted(l.name()); });
}

const FeatureView* MessageView::find_feature(std::string_view name) const {
  const auto found = std::ranges::lower_bound(features_, name, {}, &NamedFeature::name);
  return found != features_.end() && found->name == name ? &found->feature : nullptr;
}

const FeatureListView* MessageView::find_feature_list(std::string_view name) const {
  const auto found = std::ranges::lower_bound(feature_lists_, name, {}, &FeatureListView::name);
  return found != feature_lists_.end() && found->name() == name ? &*found : nullptr;
}

std::string_view to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::example:
      return "Example";
    case MessageKind::sequence_example:
      return "SequenceExample";
    case MessageKind::event:
      return "Event";
    case MessageKind::example_list:
      return "ExampleListWithContext";
    case MessageKind::unknown:
      break;
  }
  return "unknown";
}

MessageKind message_kind(std::span<const std::byte> record) {
  MessageView message;
  message.read(record);
  return message.kind();
}

}  // namespace recordpipe
