#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dataset/base/names_in_words.h"
#include "dataset/example/column_helpers.h"
#include "dataset/example/plain_steps.h"
#include "dataset/example/prefetch_bytes.h"
#include "dataset/example/tensor_values.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_columns.h"

namespace recordpipe {
namespace {

// Calls on_step(feature) for each step of the list in a validated map entry. The pieces of a split
// list are concatenated.
template <typename OnStep>
void read_steps(std::span<const std::byte> entry, OnStep on_step) {
  read_entry_value(entry,
                   [&](WireReader list) { read_messages(list, kFeatureListFeature, on_step); });
}

std::string list_in_words(const WantedFeature& feature) {
  return "feature list '" + printable(feature.name) + "'";
}

size_t check_tensor_step(const WantedFeature& feature, size_t step, const FeatureSize& size) {
  try {
    if (size.values != 1) refuse_tensors("feature list", feature, size.values);
    return measure_tensor("feature list", feature, size.last);
  } catch (const Error& error) {
    throw Error({.kind = error.kind(),
                 .reason = error.reason() + ", at step " + std::to_string(step),
                 .hint = error.hint()});
  }
}

// Returns the number of values, or of the items of a tensor. A step of kind none has no values.
size_t check_step(const WantedFeature& feature, size_t step, const FeatureSize& size) {
  if (size.kind != feature.kind && size.kind != FeatureKind::none) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = list_in_words(feature) + " holds " + std::string(to_string(size.kind)) +
                           ", not " + std::string(to_string(feature.kind)) + ", at step " +
                           std::to_string(step)});
  }
  if (feature.tensor) return check_tensor_step(feature, step, size);
  if (feature.fixed && size.values != feature.size) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = list_in_words(feature) + " holds " + counted(size.values, "value") +
                           ", not " + std::to_string(feature.size) + ", at step " +
                           std::to_string(step),
                 .hint = "declare it ragged if the number varies"});
  }
  return size.values;
}

// The number of items; nullopt for a value that is not one of the feature's tensors.
std::optional<size_t> items_of(const WantedFeature& feature, std::span<const std::byte> value) {
  try {
    return measure_tensor("feature list", feature, value);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the size of a list whose steps are all plain, valid, and as the schema wants them.
// Otherwise returns nullopt: the general parser will measure it, or say what is wrong.
template <FeatureKind kind>
std::optional<FeatureListSize> measure(const WantedFeature& feature,
                                       std::span<const std::byte> list) {
  const bool is_counted = feature.fixed && !feature.tensor;
  const size_t wanted_values = feature.size;
  const bool wants_one = is_counted && wanted_values == 1;
  FeatureListSize size;
  const bool measured = read_plain_steps<kind>(list, [&](std::span<const std::byte> step) {
    std::optional<size_t> values = 1;
    int64_t value;
    if constexpr (kind == FeatureKind::bytes) {
      const std::string_view text(reinterpret_cast<const char*>(step.data()), step.size());
      if (feature.utf8 && !is_utf8(text)) return false;
      if (feature.tensor && !(values = items_of(feature, step))) return false;
      size.bytes += step.size();
    } else if (kind == FeatureKind::floats || !wants_one || step.empty() ||
               !decode_single_varint(step, value)) {
      values = count_values({kind, step});
      if (!values) return false;
    }
    ++size.steps;
    size.values += *values;
    return !is_counted || *values == wanted_values;
  });
  return measured ? std::optional(size) : std::nullopt;
}

std::optional<FeatureListSize> measure(const WantedFeature& feature, FeatureKind kind,
                                       std::span<const std::byte> list) {
  if (kind == FeatureKind::bytes) return measure<FeatureKind::bytes>(feature, list);
  if (kind == FeatureKind::floats) return measure<FeatureKind::floats>(feature, list);
  return measure<FeatureKind::int64s>(feature, list);
}

// The kind of the first step, if it is plain.
FeatureKind first_kind(std::span<const std::byte> list) {
  const auto step = GlanceReader(list).read_bytes(kFeatureListFeature);
  if (!step || step->empty()) return FeatureKind::none;
  for (const auto kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::int64s}) {
    const uint32_t tag = length_delimited_tag(static_cast<uint32_t>(kind));
    if (std::to_integer<uint32_t>(step->front()) == tag) return kind;
  }
  return FeatureKind::none;
}

// Whether a list that is not wanted is plain and valid.
bool is_plain(std::span<const std::byte> list) {
  static const WantedFeature anything;
  const FeatureKind kind = first_kind(list);
  return list.empty() || (kind != FeatureKind::none && measure(anything, kind, list));
}

}  // namespace

void FeatureListColumns::reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  if (start(wanted, rows)) {
    for (Column& column : columns_) column.step_splits.assign(1, 0);
  }
  found_.assign(rows * columns_.size(), {});
}

bool FeatureListColumns::read(size_t row, WireReader feature_lists,
                              std::vector<std::string>& unlisted) {
  const std::span<Found> found = in_row(row);
  const auto meet = [&](std::string_view key) {
    add_unlisted(wanted_->unlisted()->meet("feature list", key), unlisted);
  };
  bool is_usual = true;
  const auto on_other = [&] { is_usual = false; };
  size_t guess = 0;
  while (true) {
    GlanceReader glance(feature_lists.rest());
    PlainList list;
    for (GlanceReader next = glance; read_plain_list(next, list); glance = next) {
      const size_t i = wanted_->find(list.key, guess);
      if (i == found.size()) {
        if (!is_utf8(list.key) || !is_plain(list.steps)) break;
        if (wanted_->unlisted() && !list.steps.empty()) [[unlikely]]
          meet(list.key);
        continue;
      }
      const WantedFeature& feature = (*wanted_)[i];
      const auto size = measure(feature, feature.kind, list.steps);
      if (!size || !feature.has_utf8_name) break;
      found[i] = {.bytes = list.steps, .missing = false, .is_plain = true, .size = *size};
      guess = i + 1;
    }
    feature_lists.skip_to_last(glance.rest().size());
    if (feature_lists.done()) return is_usual;

    const uint32_t tag = feature_lists.read_tag();
    if (tag != length_delimited_tag(kFeatureListsEntry)) {
      on_other();
      feature_lists.skip(tag);
      continue;
    }
    const WireReader entry = feature_lists.read_message();
    bool has_values = false;
    const auto on_step = [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      has_values = has_values || size.kind != FeatureKind::none;
      is_usual = is_usual && !size.has_other;
    };
    bool has_list = false;
    const auto on_list = [&](WireReader steps) {
      has_list = true;
      read_messages(steps, kFeatureListFeature, on_step, on_other);
    };
    const std::string_view key = check_entry(entry, on_list, on_other);
    is_usual = is_usual && has_list;
    const size_t i = wanted_->find(key, guess);
    if (i == found.size()) {
      if (wanted_->unlisted() && has_values) meet(key);
      continue;
    }
    found[i] = {.bytes = entry.rest(), .missing = false};
    guess = i + 1;
  }
}

void FeatureListColumns::end_row(size_t row) {
  const std::span<Found> found = in_row(row);
  for (size_t i = 0; i < found.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    Found& list = found[i];
    if (list.missing && feature.required) {
      throw Error({.kind = ErrorKind::not_found,
                   .reason = list_in_words(feature) + " is missing",
                   .hint = "set allow_missing in the schema if the list is optional"});
    }
    if (list.is_plain) continue;
    read_steps(list.bytes, [&](WireReader step) {
      FeatureSize size;
      size.add(step);
      const size_t values = check_step(feature, list.size.steps, size);
      if (feature.utf8 && !holds_utf8([&](auto on_piece) { on_piece(step); })) {
        refuse_text("feature list", feature);
      }
      ++list.size.steps;
      list.size.values += values;
      list.size.bytes += size.bytes;
    });
  }
}

bool FeatureListColumns::has_any(size_t row) const {
  const auto lists = std::span(found_).subspan(row * columns_.size(), columns_.size());
  return !std::ranges::all_of(lists, &Found::missing);
}

void FeatureListColumns::finish() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    const std::span<const Found> found = std::span(found_).subspan(std::min(i, found_.size()));
    if (feature.tensor) {
      lay_out_tensors(feature, found, columns_[i]);
    } else if (feature.kind == FeatureKind::bytes) {
      lay_out<FeatureKind::bytes>(feature, found, columns_[i]);
    } else if (feature.kind == FeatureKind::floats) {
      lay_out<FeatureKind::floats>(feature, found, columns_[i]);
    } else {
      lay_out<FeatureKind::int64s>(feature, found, columns_[i]);
    }
  }
  rows_ = rows_to_finish_;
}

// `found` begins with the list's entry for the first row; the stride between rows is
// columns_.size().
template <FeatureKind kind>
void FeatureListColumns::lay_out(const WantedFeature& feature, std::span<const Found> found,
                                 Column& column) {
  const auto list_of = [&](size_t row) -> const Found& { return found[row * columns_.size()]; };
  FeatureListSize all;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const FeatureListSize& size = list_of(row).size;
    all.steps += size.steps;
    all.values += size.values;
    all.bytes += size.bytes;
  }
  column.values.resize(kind, all.values, all.bytes);
  if (!feature.fixed) {
    column.step_splits.resize(all.steps + 1);
    column.step_splits[0] = 0;
  }
  column.row_splits.resize(rows_to_finish_ + 1);
  column.row_splits[0] = 0;
  ValuesBuffer::Place place;
  size_t steps = 0;
  const auto end_step = [&] {
    ++steps;
    if (!feature.fixed) column.step_splits[steps] = static_cast<int64_t>(place.value);
  };
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    if (row + kPrefetchAhead < rows_to_finish_) prefetch_bytes(list_of(row + kPrefetchAhead).bytes);
    const Found& list = list_of(row);
    if (list.is_plain) {
      read_plain_steps<kind>(list.bytes, [&](std::span<const std::byte> values) {
        place = column.values.write_plain<kind>(place, values);
        end_step();
        return true;
      });
    } else {
      read_steps(list.bytes, [&](WireReader step) {
        place =
            column.values.write(kind, place, all.values, [&](auto on_piece) { on_piece(step); });
        end_step();
      });
    }
    column.row_splits[row + 1] = static_cast<int64_t>(steps);
  }
}

void FeatureListColumns::lay_out_tensors(const WantedFeature& feature, std::span<const Found> found,
                                         Column& column) {
  const size_t item_bytes = tensor_bytes(feature);
  size_t steps = 0;
  size_t items = 0;
  column.row_splits.resize(rows_to_finish_ + 1);
  column.row_splits[0] = 0;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const FeatureListSize& size = found[row * columns_.size()].size;
    steps += size.steps;
    items += size.values;
    column.row_splits[row + 1] = static_cast<int64_t>(steps);
  }
  column.values.resize_block(items * item_bytes);
  column.step_splits.resize(feature.fixed ? 1 : steps + 1);
  column.step_splits[0] = 0;
  std::span<std::byte> rest = column.values.block();
  size_t step = 0;
  const auto copy = [&](std::span<const std::byte> value) {
    const size_t bytes = measure_tensor("feature list", feature, value) * item_bytes;
    copy_tensor(feature, value, rest.first(bytes));
    rest = rest.subspan(bytes);
    if (feature.fixed) return;
    column.step_splits[step + 1] =
        column.step_splits[step] + static_cast<int64_t>(bytes / item_bytes);
    ++step;
  };
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const Found& list = found[row * columns_.size()];
    if (list.is_plain) {
      read_plain_steps<FeatureKind::bytes>(list.bytes, [&](std::span<const std::byte> value) {
        copy(value);
        return true;
      });
    } else {
      read_steps(list.bytes, [&](WireReader feature_of_step) {
        FeatureSize size;
        size.add(feature_of_step);
        copy(size.last);
      });
    }
  }
}

TensorColumn FeatureListColumns::tensor(std::string_view name) const {
  const size_t i = find_tensor(name);
  const WantedFeature& feature = (*wanted_)[i];
  TensorColumn column{.type = *feature.tensor, .values = {}, .shape = feature.shape};
  column.row_splits = std::span(columns_[i].row_splits).first(rows_ + 1);
  auto items = static_cast<size_t>(column.row_splits.back());
  if (!feature.fixed) {
    column.step_splits = std::span(columns_[i].step_splits).first(items + 1);
    items = static_cast<size_t>(column.step_splits.back());
  }
  column.values = columns_[i].values.block().first(items * tensor_bytes(feature));
  return column;
}

std::vector<uint8_t> FeatureListColumns::validity(std::string_view name) const {
  const size_t column = find_column(name, "feature list");
  return validity_of(std::span(found_).subspan(std::min(column, found_.size())), rows_,
                     columns_.size(), [](const Found& found) { return found.missing; });
}

uint64_t FeatureListColumns::heap_bytes() const {
  return ColumnTable::heap_bytes() + found_.capacity() * sizeof(Found);
}

}  // namespace recordpipe
