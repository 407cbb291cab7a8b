#include "dataset/rlds/step_columns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "dataset/base/names_in_words.h"
#include "dataset/rlds/step_candidate.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"

namespace recordpipe::rlds {
namespace {

constexpr size_t kMaxOffsets = 4096;
constexpr int64_t kLargestOffset = int64_t{1} << 31;

[[noreturn]] void refuse(std::string reason, std::string hint = {}) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "steps: " + std::move(reason),
               .hint = std::move(hint)});
}

std::string in_quotes(std::string_view name) { return "'" + printable(name) + "'"; }

// Whether `name` is `key`, or is below it.
bool is_below(std::string_view name, std::string_view key) {
  return name.starts_with(key) && (name.size() == key.size() || name[key.size()] == '/');
}

// The name of the only Dataset feature.
std::string steps_name(const tfds::Feature& features) {
  std::optional<std::string> found;
  for (const auto& [name, feature] : features.children) {
    if (feature.feature_class != tfds::FeatureClass::dataset) continue;
    if (found)
      refuse("the data set has two Dataset features, " + in_quotes(*found) + " and " +
             in_quotes(name));
    found = name;
  }
  if (!found) {
    refuse("the data set has no Dataset feature, such as RLDS's 'steps'",
           "its elements are no episodes");
  }
  return *found;
}

class Resolver {
 public:
  Resolver(const tfds::Feature& features, const StepsOptions& options)
      : options_(options), steps_(steps_name(features)) {
    for (const tfds::Leaf& leaf : tfds::leaves(features)) {
      Candidate candidate = candidate_of(leaf, steps_);
      candidate.source.leaf = out_.leaves.size();
      for (StepLeaf made : candidate.leaves) {
        for (size_t& number : made.row_lengths) number += candidate.source.leaf;
        out_.leaves.push_back(std::move(made));
      }
      const bool is_of_step = leaf.in_dataset && leaf.path.front() == steps_;
      (is_of_step ? of_steps_ : of_episode_).push_back(std::move(candidate));
    }
  }

  ResolvedColumns run() {
    if (options_.features.empty()) {
      for (const Candidate& candidate : of_steps_) add(candidate.path, candidate);
    }
    for (const auto& [name, path] : options_.features) choose(name, path);
    if (out_.columns.empty()) refuse("there are no features to choose from");
    check_names();
    for (const auto& [key, offsets] : options_.offsets) set_window(key, offsets);
    for (size_t i = 0; i < out_.columns.size(); ++i) set_ragged(i);
    describe();
    out_.steps = steps_;
    return std::move(out_);
  }

 private:
  void choose(const std::string& name, const std::string& path) {
    if (name.empty()) refuse("a feature has an empty name");
    const size_t before = out_.columns.size();
    for (const auto* candidates : {&of_steps_, &of_episode_}) {
      for (const Candidate& candidate : *candidates) {
        if (is_below(candidate.path, path)) {
          add(name + candidate.path.substr(path.size()), candidate);
        }
      }
      if (out_.columns.size() > before) return;
    }
    std::vector<std::string> known;
    for (const auto* candidates : {&of_steps_, &of_episode_}) {
      for (const Candidate& candidate : *candidates) known.push_back(candidate.path);
    }
    refuse("there is no feature " + in_quotes(path), there_are(std::move(known), path));
  }

  void add(std::string name, const Candidate& candidate) {
    if (!candidate.problem.empty()) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "steps: feature " + in_quotes(candidate.path) + " " +
                             candidate.problem + ", which a row of a step can't have",
                   .hint = "leave it out: name the wanted features"});
    }
    StepColumn column = candidate.column;
    column.name = std::move(name);
    out_.columns.push_back(std::move(column));
    ColumnSource source = candidate.source;
    source.offsets = {0};
    out_.sources.push_back(std::move(source));
    paths_.push_back(candidate.path);
    chosen_.push_back(&candidate);
  }

  // How the values of a ragged column are decoded.
  void set_ragged(size_t number) {
    const StepColumn& column = out_.columns[number];
    if (!column.is_ragged) return;
    ColumnSource& source = out_.sources[number];
    const Candidate& candidate = *chosen_[number];
    if (candidate.lengths.empty() && source.is_padded && options_.pad == Pad::zero) {
      refuse("feature " + in_quotes(column.name) +
                 " has an unknown shape, which padding with zeros would need",
             "pad with the edge");
    }
    source.ragged = std::make_shared<const RaggedColumn>(column.name, candidate.feature,
                                                         candidate.lengths, column.window);
    // A row has the values and shapes, and the inner row lengths: without a window, not those of
    // the steps.
    const bool has_outer = source.is_of_episode || column.window;
    for (size_t i = 0; i < candidate.leaves.size(); ++i) {
      const StepLeaf& leaf = candidate.leaves[i];
      const bool is_of_steps = !leaf.is_ragged && !candidate.lengths.empty();  // row lengths
      if (!is_of_steps || has_outer) source.ragged_leaves.push_back(source.leaf + i);
    }
  }

  // Names are the paths of a tree: none may be below another.
  void check_names() const {
    std::set<std::string> names;
    for (const StepColumn& column : out_.columns) {
      if (!names.insert(column.name).second) {
        refuse("two features have the name " + in_quotes(column.name));
      }
      if (column.name.front() == '/' || column.name.back() == '/' ||
          column.name.find("//") != std::string::npos) {
        refuse("the name " + in_quotes(column.name) + " has an empty part");
      }
    }
    for (const std::string& name : names) {
      for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
        if (names.count(name.substr(0, at)) > 0) {
          refuse("the name " + in_quotes(name) + " is below another, " +
                 in_quotes(name.substr(0, at)));
        }
      }
    }
  }

  void set_window(const std::string& key, const std::vector<int64_t>& offsets) {
    if (offsets.empty() || offsets.size() > kMaxOffsets) {
      refuse("the window of " + in_quotes(key) + " has no offsets, or more than " +
             std::to_string(kMaxOffsets));
    }
    for (const int64_t offset : offsets) {
      if (offset < -kLargestOffset || offset > kLargestOffset) {
        refuse("the window of " + in_quotes(key) + " has an offset beyond 2^31");
      }
    }
    const bool is_padded = std::ranges::any_of(offsets, [](int64_t offset) { return offset != 0; });
    bool is_used = false;
    for (size_t i = 0; i < out_.columns.size(); ++i) {
      StepColumn& column = out_.columns[i];
      if (!is_below(column.name, key)) continue;
      if (out_.sources[i].is_of_episode) {
        refuse("feature " + in_quotes(column.name) + " of an episode has no window");
      }
      if (column.window) {
        refuse("feature " + in_quotes(column.name) + " has two windows",
               "name features that have none in common");
      }
      is_used = true;
      column.window = offsets.size();
      out_.sources[i].offsets = offsets;
      out_.sources[i].is_padded = is_padded;
    }
    if (!is_used) {
      std::string known;
      for (const StepColumn& column : out_.columns) {
        known += (known.empty() ? "" : ", ") + in_quotes(column.name);
      }
      refuse("there are offsets of " + in_quotes(key) + ", which is no feature of a row",
             "a row has " + known);
    }
    if (!is_padded) return;
    const std::string mask = key + "_mask";
    for (const StepColumn& column : out_.columns) {
      if (is_below(column.name, mask)) {
        refuse("feature " + in_quotes(column.name) + " has the name of a mask");
      }
    }
    out_.masks.push_back({mask, offsets.size()});
    out_.mask_offsets.push_back(offsets);
  }

  void describe() {
    for (size_t i = 0; i < out_.columns.size(); ++i) {
      const StepColumn& column = out_.columns[i];
      const ColumnSource& source = out_.sources[i];
      hash(column.name);
      hash(column.type ? static_cast<uint64_t>(*column.type) : 0);
      for (const size_t size : column.shape) hash(size);
      hash(column.window ? *column.window + 1 : 0);
      hash(column.is_image ? 1 : 0);
      if (column.is_ragged) {
        hash(chosen_[i]->lengths.size() + 1);
        for (const int64_t size : chosen_[i]->feature.shape) hash(static_cast<uint64_t>(size));
      }
      if (i > 0) out_.text += ", ";
      out_.text += printable(column.name);
      if (paths_[i] != column.name) out_.text += "=" + printable(paths_[i]);
      describe_values(column);
      if (!column.window) continue;
      out_.text += "[";
      for (size_t at = 0; at < source.offsets.size(); ++at) {
        out_.text += (at > 0 ? " " : "") + std::to_string(source.offsets[at]);
      }
      out_.text += "]";
    }
    for (const StepMask& mask : out_.masks) hash(mask.name);
  }
  // " float32 7": the dtype and shape of a step, as in descriptions of tfds().
  void describe_values(const StepColumn& column) {
    if (column.is_ragged) out_.text += " ragged";
    out_.text += column.is_image ? " image" : " ";
    if (column.is_image) return;
    out_.text += column.type ? to_string(*column.type) : "bytes";
    for (const size_t dimension : column.shape) out_.text += " " + std::to_string(dimension);
  }
  void hash(uint64_t number) { out_.format = derive_key(out_.format, number); }
  void hash(std::string_view text) {
    for (const char c : text) hash(static_cast<unsigned char>(c));
    hash(uint64_t{text.size()});
  }

  const StepsOptions& options_;
  const std::string steps_;
  std::vector<Candidate> of_steps_;
  std::vector<Candidate> of_episode_;
  std::vector<std::string> paths_;  // of the columns
  std::vector<const Candidate*> chosen_;
  ResolvedColumns out_;
};

}  // namespace

ResolvedColumns resolve_columns(const tfds::Feature& features, const StepsOptions& options) {
  return Resolver(features, options).run();
}

}  // namespace recordpipe::rlds
