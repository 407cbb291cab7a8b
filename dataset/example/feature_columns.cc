#include "recordpipe/example/internal/feature_columns.h"

#include <algorithm>
#include <atomic>

#include "dataset/base/names_in_words.h"
#include "dataset/example/column_helpers.h"
#include "dataset/example/prefetch_bytes.h"
#include "dataset/example/tensor_values.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"

namespace recordpipe {
namespace {

// Whether the positions of the values are known in advance, because they are numbers in a fixed
// shape.
bool has_place(const WantedFeature& feature) {
  return feature.fixed && feature.kind != FeatureKind::bytes;
}

auto pieces_of(std::span<const std::byte> entry) {
  return [entry](auto on_piece) { read_entry_value(entry, on_piece); };
}

// Whether the size of a feature is what its column needs; otherwise check() throws.
bool fits(const WantedFeature& feature, FeatureKind kind, size_t values, size_t bytes) {
  return kind == feature.kind && (!feature.fixed || values == feature.size || feature.tensor) &&
         (!feature.value_bytes || bytes == *feature.value_bytes);
}

void check(const WantedFeature& feature, const FeatureSize& size) {
  const auto name = [&] { return "feature '" + printable(feature.name) + "' "; };
  if (size.kind == FeatureKind::none) {
    if (!feature.required) return;
    throw Error({.kind = ErrorKind::not_found,
                 .reason = name() + "is missing",
                 .hint = "declare default values if the feature is optional"});
  }
  if (size.kind != feature.kind) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + std::string(to_string(size.kind)) + ", not " +
                           std::string(to_string(feature.kind))});
  }
  if (feature.fixed && size.values != feature.size && !feature.tensor) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + counted(size.values, "value") + ", not " +
                           std::to_string(feature.size),
                 .hint = "declare it ragged if the number varies"});
  }
  if (feature.value_bytes && size.bytes != *feature.value_bytes) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name() + "holds " + counted(size.bytes, "byte") + ", not " +
                           std::to_string(*feature.value_bytes)});
  }
}

}  // namespace

std::span<const std::byte> FeatureColumns::view(size_t row, std::string_view name) const {
  const size_t i = find_column(name, FeatureKind::bytes, /*fixed=*/true, kViewForm, "feature");
  return found_[row * slots_ + targets_[i].slot].bytes;
}

void FeatureColumns::reset(const std::shared_ptr<const WantedFeatures>& wanted, size_t rows) {
  if (start(wanted, rows)) {
    targets_.assign(columns_.size(), {});
    checked_.clear();
    next_.resize(columns_.size() + 1);
    slots_ = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const WantedFeature& feature = (*wanted_)[i];
      targets_[i] = {.has_place = has_place(feature), .slot = slots_};
      if (!has_place(feature)) ++slots_;
      if (feature.tensor || feature.utf8) checked_.push_back(i);
      next_[i] = static_cast<uint32_t>(i + 1);
    }
    next_.back() = 0;
  }
  states_.assign(rows * columns_.size(), State::missing);
  found_.resize(rows * slots_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    if (has_place(feature)) {
      columns_[i].values.resize(feature.kind, rows * feature.size, 0);
    } else if (feature.tensor && feature.fixed) {
      columns_[i].values.resize_block(rows * tensor_bytes(feature));
    }
  }
}

void FeatureColumns::Row::read(WireReader features) {
  read_entries(
      features, [&](const PlainEntry& plain) { return take(plain); },
      [&](std::string_view key, std::span<const std::byte> entry, const FeatureSize& size) {
        if (size.has_other || size.kind == FeatureKind::none) [[unlikely]]
          is_usual_ = false;
        take(key, entry, size);
      },
      [&] { is_usual_ = false; });
}

// Returns the feature, or the number of features if it is not wanted.
size_t FeatureColumns::Row::find(std::string_view key) {
  // Other threads read other rows. They may write here at the same time; any value is only a guess.
  const std::atomic_ref<uint32_t> next(columns_.next_[previous_]);
  const size_t guess = next.load(std::memory_order_relaxed);
  const size_t feature = columns_.wanted_->find(key, guess);
  if (feature == states_.size()) return feature;
  if (feature != guess) next.store(static_cast<uint32_t>(feature), std::memory_order_relaxed);
  return feature;
}

// Takes an entry unless its values need another parser, also to say what is wrong with them.
bool FeatureColumns::Row::take(const PlainEntry& plain) {
  const size_t i = find(plain.key);
  if (i == states_.size()) {
    if (!is_utf8(plain.key) || !count_values(plain.feature)) return false;
    if (columns_.wanted_->unlisted()) [[unlikely]]
      meet(plain.key);
    return true;
  }
  const WantedFeature& wanted = (*columns_.wanted_)[i];
  if (plain.feature.kind != wanted.kind || !wanted.has_utf8_name) return false;
  State& state = states_[i];
  if (columns_.targets_[i].has_place) {
    const bool done =
        columns_.columns_[i].values.write_numbers(row_ * wanted.size, plain.feature, wanted.size);
    if (!done) return false;
    state = State::found;
    previous_ = i;
    return true;
  }
  const auto count = count_values(plain.feature);
  const size_t bytes = plain.feature.values.size();
  if (!count || *count == 0 || !fits(wanted, wanted.kind, *count, bytes)) return false;
  columns_.found(row_, i) = {
      .bytes = plain.feature.values, .is_plain = true, .values = *count, .value_bytes = bytes};
  state = State::found;
  previous_ = i;
  return true;
}

void FeatureColumns::Row::take(std::string_view key, std::span<const std::byte> entry,
                               const FeatureSize& size) {
  const size_t i = find(key);
  if (i == states_.size()) {
    if (columns_.wanted_->unlisted() && size.kind != FeatureKind::none) meet(key);
    return;
  }
  previous_ = i;
  const WantedFeature& wanted = (*columns_.wanted_)[i];
  State& state = states_[i];
  if (size.kind == FeatureKind::none || (wanted.empty_is_missing && size.values == 0)) {
    state = State::missing;
  } else if (!fits(wanted, size.kind, size.values, size.bytes)) {
    state = State::wrong;
    wrong_.push_back({i, size});
  } else if (columns_.targets_[i].has_place) {
    const ValuesBuffer::Place place{.value = row_ * wanted.size};
    columns_.columns_[i].values.write(wanted.kind, place, place.value + wanted.size,
                                      pieces_of(entry));
    state = State::found;
  } else {
    const bool is_single = wanted.kind == FeatureKind::bytes && size.values == 1;
    columns_.found(row_, i) = {.bytes = is_single ? size.last : entry,
                               .is_plain = is_single,
                               .values = size.values,
                               .value_bytes = size.bytes};
    state = State::found;
  }
}

void FeatureColumns::Row::meet(std::string_view key) {
  add_unlisted(columns_.wanted_->unlisted()->meet("feature", key), unlisted_);
}

void FeatureColumns::Row::end() {
  uint8_t all = 1;
  uint8_t any = 0;
  for (const State state : states_) {
    all &= static_cast<uint8_t>(state);
    any |= static_cast<uint8_t>(state);
  }
  has_any_ = any != 0;
  static_assert((static_cast<uint8_t>(State::wrong) & 1) == 0);
  if (all == static_cast<uint8_t>(State::found)) [[likely]] {
    for (const size_t i : columns_.checked_) end(i);
  } else {
    for (size_t i = 0; i < states_.size(); ++i) end(i);
  }
}

void FeatureColumns::Row::end(size_t i) {
  const WantedFeature& feature = (*columns_.wanted_)[i];
  Column& column = columns_.columns_[i];
  const State state = states_[i];
  if (state == State::wrong) {
    const auto at = std::ranges::find(wrong_.rbegin(), wrong_.rend(), i, &Wrong::feature);
    check(feature, at->size);
  }
  if (state == State::missing) check(feature, {});
  if (columns_.targets_[i].has_place) {
    if (state == State::missing) {
      column.values.write({.value = row_ * feature.size}, feature.default_values);
    }
    return;
  }
  Found& found = columns_.found(row_, i);
  if (state == State::missing) found = {};
  if (feature.tensor) columns_.read_tensor(row_, i);
  if (feature.utf8 && state == State::found) {
    const bool valid =
        found.is_plain
            ? is_utf8({reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size()})
            : holds_utf8(pieces_of(found.bytes));
    if (!valid) refuse_text("feature", feature);
  }
}

void FeatureColumns::finish() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const WantedFeature& feature = (*wanted_)[i];
    if (has_place(feature) || feature.is_view) continue;
    if (!feature.tensor) {
      lay_out(feature, targets_[i].slot, columns_[i]);
    } else if (!feature.fixed) {
      lay_out_tensors(feature, targets_[i].slot, columns_[i]);
    }
  }
  rows_ = rows_to_finish_;
}

// Writes a tensor of fixed shape to its place. Measures a ragged one: found.values becomes the
// number of items.
void FeatureColumns::read_tensor(size_t row, size_t i) {
  const WantedFeature& feature = (*wanted_)[i];
  Column& column = columns_[i];
  Found& found = this->found(row, i);
  if (states_[row * columns_.size() + i] == State::missing) {
    if (feature.fixed) {
      const size_t bytes = tensor_bytes(feature);
      std::ranges::fill(column.values.block().subspan(row * bytes, bytes), std::byte{0});
    }
    return;
  }
  if (found.values != 1) refuse_tensors("feature", feature, found.values);
  const size_t items = measure_tensor("feature", feature, found.bytes);
  if (feature.fixed) {
    const size_t bytes = tensor_bytes(feature);
    copy_tensor(feature, found.bytes, column.values.block().subspan(row * bytes, bytes));
  } else {
    found.values = items;
  }
}

void FeatureColumns::lay_out_tensors(const WantedFeature& feature, size_t slot, Column& column) {
  const size_t item_bytes = tensor_bytes(feature);
  column.row_splits.resize(rows_to_finish_ + 1);
  column.row_splits[0] = 0;  // a user of the last batch may have written to it
  size_t items = 0;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    items += found_[row * slots_ + slot].values;
    column.row_splits[row + 1] = static_cast<int64_t>(items);
  }
  column.values.resize_block(items * item_bytes);
  std::span<std::byte> rest = column.values.block();
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const Found& at = found_[row * slots_ + slot];
    if (at.values == 0) continue;
    const size_t bytes = at.values * item_bytes;
    copy_tensor(feature, at.bytes, rest.first(bytes));
    rest = rest.subspan(bytes);
  }
}

TensorColumn FeatureColumns::tensor(std::string_view name) const {
  const size_t i = find_tensor(name);
  const WantedFeature& feature = (*wanted_)[i];
  TensorColumn column{.type = *feature.tensor, .values = {}, .shape = feature.shape};
  size_t items = rows_;
  if (!feature.fixed) {
    column.row_splits = std::span(columns_[i].row_splits).first(rows_ + 1);
    items = static_cast<size_t>(column.row_splits.back());
  }
  column.values = columns_[i].values.block().first(items * tensor_bytes(feature));
  return column;
}

void FeatureColumns::lay_out(const WantedFeature& feature, size_t slot, Column& column) {
  const size_t default_bytes = bytes_of(feature.default_values);
  const auto in_row = [&](size_t row) -> const Found& { return found_[row * slots_ + slot]; };
  size_t values = 0;
  size_t bytes = 0;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    const Found& at = in_row(row);
    values += feature.fixed ? feature.size : at.values;
    bytes += at.values == 0 ? default_bytes : at.value_bytes;
  }
  column.values.resize(feature.kind, values, bytes);
  column.row_splits.resize(rows_to_finish_ + 1);
  column.row_splits[0] = 0;  // a user of the last batch may have written to it
  ValuesBuffer::Place place;
  for (size_t row = 0; row < rows_to_finish_; ++row) {
    if (row + kPrefetchAhead < rows_to_finish_) prefetch_bytes(in_row(row + kPrefetchAhead).bytes);
    const Found& at = in_row(row);
    if (at.values == 0) {
      place = column.values.write(place, feature.default_values);
    } else if (at.is_plain) {
      place = column.values.write(place, {feature.kind, at.bytes});
    } else {
      place = column.values.write(feature.kind, place, values, pieces_of(at.bytes));
    }
    column.row_splits[row + 1] = static_cast<int64_t>(place.value);
  }
}

std::vector<uint8_t> FeatureColumns::validity(std::string_view name) const {
  const size_t column = find_column(name, "feature");
  return validity_of(std::span(states_).subspan(std::min(column, states_.size())), rows_,
                     columns_.size(), [](State state) { return state == State::missing; });
}

uint64_t FeatureColumns::heap_bytes() const {
  return ColumnTable::heap_bytes() + states_.capacity() + found_.capacity() * sizeof(Found);
}

SparseIndices sparse_indices(std::span<const int64_t> row_splits) {
  SparseIndices sparse{{}, {static_cast<int64_t>(row_splits.size()) - 1, 0}};
  sparse.indices.reserve(static_cast<size_t>(row_splits.back()));
  for (size_t row = 0; row + 1 < row_splits.size(); ++row) {
    const int64_t length = row_splits[row + 1] - row_splits[row];
    for (int64_t i = 0; i < length; ++i) sparse.indices.push_back({static_cast<int64_t>(row), i});
    sparse.dense_shape[1] = std::max(sparse.dense_shape[1], length);
  }
  return sparse;
}

}  // namespace recordpipe
