#include "recordpipe/message_view.h"

#include <algorithm>

#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_reader.h"

namespace recordpipe {
namespace {

std::string_view name_of(const NamedFeature& feature) { return feature.name; }
std::string_view name_of(const FeatureListView& list) { return list.name(); }

// Sorts by name and keeps the last of several entries with the same name.
template <typename Named>
void sort_and_keep_last(std::vector<Named>& all) {
  const auto before = [](const Named& a, const Named& b) { return name_of(a) < name_of(b); };
  const auto not_before = [&](const Named& a, const Named& b) { return !before(a, b); };
  if (std::ranges::adjacent_find(all, not_before) == all.end()) return;  // common: already sorted
  std::ranges::stable_sort(all, before);
  const auto same = [](const Named& a, const Named& b) { return name_of(a) == name_of(b); };
  // unique() keeps the first of equal entries, which is the last one because the order is reversed.
  const auto kept = std::unique(all.rbegin(), all.rend(), same);
  all.erase(all.begin(), kept.base());
}

// Collects entries. Holds at most 1024 of them or, if that is more, twice the number of distinct
// names: a name may occur millions of times.
template <typename Named>
class Collector {
 public:
  explicit Collector(std::vector<Named>& all) : all_(all) { all_.clear(); }
  ~Collector() { sort_and_keep_last(all_); }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void add(const Named& entry) {
    if (all_.size() == limit_) {
      sort_and_keep_last(all_);
      limit_ = std::max(limit_, 2 * all_.size());
    }
    all_.push_back(entry);
    any_ = true;
  }
  bool any() const { return any_; }

 private:
  std::vector<Named>& all_;
  size_t limit_ = 1024;
  bool any_ = false;
};

// The top-level fields of a message.
struct TopFields {
  bool features = false;       // field 1 of Example and SequenceExample
  bool feature_lists = false;  // field 2 of SequenceExample
  bool wall_time = false;      // field 1 of Event
  bool other_than_event = false;
};

// Field numbers of TensorFlow's event.proto: wall_time, step; file_version, graph_def, summary,
// log_message, session_log, tagged_run_metadata, meta_graph_def, source_metadata.
constexpr uint32_t kWallTimeTag = wire_tag(1, WireType::fixed64);
constexpr uint32_t kStepTag = wire_tag(2, WireType::varint);
constexpr uint32_t kFileVersionTag = length_delimited_tag(3);
constexpr uint32_t kSourceMetadataTag = length_delimited_tag(10);

TopFields read_top_fields(WireReader message) {
  TopFields found;
  while (!message.done()) {
    const uint32_t tag = message.read_tag();
    const bool after_step = tag >= kFileVersionTag && tag <= kSourceMetadataTag &&
                            wire_type(tag) == WireType::length_delimited;
    found.features |= tag == length_delimited_tag(kExampleFeatures);
    found.feature_lists |= tag == length_delimited_tag(kSequenceFeatureLists);
    found.wall_time |= tag == kWallTimeTag;
    found.other_than_event |= tag != kWallTimeTag && tag != kStepTag && !after_step;
    message.skip(tag);
  }
  return found;
}

}  // namespace

void FeatureListView::for_each_step(
    const std::function<void(const FeatureView& step)>& visit) const {
  read_entry_value(entry_, [&](WireReader list) {
    read_messages(list, kFeatureListFeature, [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      visit(FeatureView(step.rest(), size, /*in_entry=*/false));
    });
  });
}

void MessageView::read(std::span<const std::byte> record) {
  kind_ = MessageKind::unknown;
  features_.clear();
  feature_lists_.clear();
  try {
    const TopFields top = read_top_fields(read_example(record));
    if (record.empty()) {
      kind_ = MessageKind::example;
    } else if (top.wall_time) {
      if (!top.other_than_event) kind_ = MessageKind::event;
    } else if (top.feature_lists) {
      if (read_features(record) && read_feature_lists(record)) {
        kind_ = MessageKind::sequence_example;
      }
    } else if (top.features) {
      if (read_features(record)) kind_ = MessageKind::example;
    }
  } catch (const Error&) {
    kind_ = MessageKind::unknown;
  }
  if (kind_ != MessageKind::unknown) return;
  features_.clear();
  feature_lists_.clear();
}

// read_features() and read_feature_lists() return false if a field has bytes but no entry. They
// throw Error{corrupted} for invalid bytes.
bool MessageView::read_features(std::span<const std::byte> record) {
  Collector collector(features_);
  bool empty = true;
  read_messages(WireReader(record), kExampleFeatures, [&](WireReader features) {
    empty = empty && features.done();
    recordpipe::read_features(features, [&](std::string_view name, std::span<const std::byte> entry,
                                            const FeatureSize& size) {
      collector.add({name, FeatureView(entry, size)});
    });
  });
  return empty || collector.any();
}

bool MessageView::read_feature_lists(std::span<const std::byte> record) {
  Collector collector(feature_lists_);
  bool empty = true;
  read_messages(WireReader(record), kSequenceFeatureLists, [&](WireReader lists) {
    empty = empty && lists.done();
    read_messages(lists, kFeatureListsEntry, [&](WireReader entry) {
      size_t steps = 0;
      const std::string_view name = check_entry(entry, [&](WireReader list) {
        read_messages(list, kFeatureListFeature, [&](WireReader step) {
          FeatureSize().add(step);
          ++steps;
        });
      });
      collector.add(FeatureListView(name, entry.rest(), steps));
    });
  });
  return empty || collector.any();
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
