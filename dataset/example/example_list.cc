#include "dataset/example/example_list.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dataset/example/wire_writer.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_reader.h"

namespace recordpipe {
namespace {

// The steps of a feature list, serialised: those before the last Example that has the feature.
struct Steps {
  size_t count = 0;
  std::string fields = {};
};

class Lists {
 public:
  explicit Lists(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_other() for fields that may be lost.
  template <typename OnOther>
  void add_example(WireReader example, OnOther on_other) {
    ++examples_;
    in_example_.clear();
    const auto on_entry = [&](WireReader entry) {
      std::string value;
      FeatureSize size;
      const auto on_piece = [&](WireReader piece) {
        value.append(reinterpret_cast<const char*>(piece.rest().data()), piece.rest().size());
        size.add(piece);
      };
      const std::string_view name = check_entry(entry, on_piece, on_other);
      if (size.has_other || size.kind == FeatureKind::none) on_other();
      in_example_.insert_or_assign(name, std::move(value));
    };
    const auto on_features = [&](WireReader features) {
      read_messages(features, kFeaturesEntry, on_entry, on_other);
    };
    read_messages(example, kExampleFeatures, on_features, on_other);
    for (const auto& [name, value] : in_example_) {
      Steps& steps = lists_[name];
      fill(steps, examples_ - 1);
      append_length_header(kFeatureListFeature, value.size(), steps.fields);
      steps.fields += value;
      ++steps.count;
    }
  }

  // Appends the FeatureLists.
  void append_to(std::string& out) {
    std::string entries;
    for (auto& [name, steps] : lists_) {
      fill(steps, examples_);
      append_length_header(kFeatureListsEntry, entry_size(name, steps.fields), entries);
      append_length_header(kEntryKey, name.size(), entries);
      entries += name;
      append_length_header(kEntryValue, steps.fields.size(), entries);
      entries += steps.fields;
    }
    append_length_header(kSequenceFeatureLists, entries.size(), out);
    out += entries;
  }

 private:
  // Adds empty steps, so that there are `count`.
  void fill(Steps& steps, size_t count) {
    empty_bytes_ += 2 * (count - steps.count);
    if (empty_bytes_ > max_bytes_) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .reason = "an ExampleListWithContext whose Examples have too many different "
                             "features"});
    }
    for (; steps.count < count; ++steps.count) {
      append_length_header(kFeatureListFeature, 0, steps.fields);
    }
  }

  const size_t max_bytes_;
  size_t examples_ = 0;
  size_t empty_bytes_ = 0;
  std::map<std::string_view, std::string> in_example_;
  std::map<std::string_view, Steps> lists_;
};

}  // namespace

ConvertedList as_sequence_example(const Record& list) {
  bool is_usual = true;
  const auto on_other = [&] { is_usual = false; };
  std::string sequence;
  bool has_context = false;
  Lists lists(max_step_bytes(list.data.size()));
  WireReader reader = read_example(list.data);
  while (!reader.done()) {
    const uint32_t tag = reader.read_tag();
    if (tag == length_delimited_tag(kListExamples)) {
      lists.add_example(reader.read_message(), on_other);
    } else if (tag == length_delimited_tag(kListContext)) {
      const auto on_features = [&](WireReader features) {
        const auto bytes = features.rest();
        append_length_header(kSequenceContext, bytes.size(), sequence);
        sequence.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      };
      if (std::exchange(has_context, true)) on_other();
      read_messages(reader.read_message(), kExampleFeatures, on_features, on_other);
    } else {
      on_other();
      reader.skip(tag);
    }
  }
  lists.append_to(sequence);
  const auto owner = std::make_shared<std::byte[]>(sequence.size());
  std::ranges::copy(std::as_bytes(std::span(sequence)), owner.get());
  Record result = list;
  result.data = {owner.get(), sequence.size()};
  result.owner = owner;
  return {std::move(result), is_usual};
}

}  // namespace recordpipe
