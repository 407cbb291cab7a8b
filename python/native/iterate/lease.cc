#include "python/native/iterate/lease.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nanobind/ndarray.h>

#include "python/native/interpreter/gil.h"
#include "python/native/iterate/nested_to_python.h"
#include "python/native/values/arrays.h"

namespace recordpipe::python {
namespace {

// Makes columns into arrays that keep `owner` alive.
class Columns {
 public:
  Columns(nb::handle owner, const std::vector<ImageColumn>& images, bool single)
      : owner_(owner), images_(images), single_(single) {}

  // `columns` is an ExampleBatch or FeatureColumns.
  template <FeatureKind kind, class Features>
  nb::object of(const Features& columns, size_t rows, const OutputFeature& feature) const {
    if (feature.form == FeatureForm::tensor || feature.form == FeatureForm::ragged_tensor) {
      return tensors(columns.tensor(feature.name), rows, feature);
    }
    if (feature.form == FeatureForm::ragged) {
      const auto column = columns.template ragged<kind>(feature.name);
      return rows_of(column.values, {column.values.size()}, column.row_splits);
    }
    const auto column = columns.template dense<kind>(feature.name);
    nb::object values;
    if constexpr (kind == FeatureKind::bytes) {
      if (feature.form == FeatureForm::raw) {
        values =
            array(column.values.bytes(), feature.dtype, with_shape(rows, feature.shape), owner_);
      }
    }
    if (!values) values = array(column.values, with_shape(rows, column.shape), owner_);
    return single_ ? nb::object(values[0]) : values;
  }

  template <FeatureKind kind>
  nb::object of(const FeatureListColumns& columns, size_t, const OutputFeature& feature) const {
    if (is_block(feature.form)) {
      const TensorColumn column = columns.tensor(feature.name);
      const auto steps = static_cast<size_t>(column.row_splits.back());
      const bool is_ragged = !column.step_splits.empty();
      const size_t items = is_ragged ? static_cast<size_t>(column.step_splits.back()) : steps;
      nb::object all =
          array(column.values.data(), feature.dtype, with_shape(items, column.shape), owner_);
      if (is_ragged) all = ragged(all, column.step_splits, owner_);
      return single_ ? all : ragged(all, column.row_splits, owner_);
    }
    if (feature.form == FeatureForm::fixed_sequence) {
      const auto column = columns.dense<kind>(feature.name);
      const size_t steps = static_cast<size_t>(column.row_splits.back());
      return rows_of(column.values, with_shape(steps, column.shape), column.row_splits);
    }
    const auto column = columns.ragged<kind>(feature.name);
    nb::object steps =
        ragged(array(column.values, {column.values.size()}, owner_), column.step_splits, owner_);
    return single_ ? steps : ragged(steps, column.row_splits, owner_);
  }

  template <class Features>
  nb::dict dict(const Features& columns, size_t rows,
                const std::vector<OutputFeature>& outputs) const {
    nb::dict result;
    for (const OutputFeature& feature : outputs) {
      nb::object value =
          feature.form == FeatureForm::image || feature.form == FeatureForm::image_label
              ? of_images(feature)
          : feature.kind == FeatureKind::floats ? of<FeatureKind::floats>(columns, rows, feature)
          : feature.kind == FeatureKind::int64s ? of<FeatureKind::int64s>(columns, rows, feature)
                                                : of<FeatureKind::bytes>(columns, rows, feature);
      result[nb::str(feature.name.data(), feature.name.size())] = value;  // may hold null bytes
      if (feature.form == FeatureForm::image && !images_[feature.image].sizes.empty()) {
        const std::string name = size_feature(feature.name);
        result[nb::str(name.data(), name.size())] = sizes_of(images_[feature.image]);
      }
      if (feature.is_optional) {
        const std::string name = mask_feature(feature.name);
        result[nb::str(name.data(), name.size())] = mask_of(columns.validity(feature.name), rows);
      }
    }
    return result;
  }

 private:
  // [batch], of the bits of a validity(), of which none are there if all rows have the feature.
  nb::object mask_of(const std::vector<uint8_t>& validity, size_t rows) const {
    auto mask = std::make_unique<std::vector<uint8_t>>(rows, uint8_t{1});
    for (size_t i = 0; i < rows && !validity.empty(); ++i) {
      (*mask)[i] = (validity[i / 8] >> i % 8) & 1;
    }
    const void* const values = mask->data();
    const nb::capsule owner(mask.release(),
                            [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
    const nb::object all = array(values, nb::dtype<bool>(), {rows}, owner);
    return single_ ? nb::object(all[0]) : all;
  }
  // [batch, 2]: heights and widths.
  nb::object sizes_of(const ImageColumn& column) const {
    static_assert(sizeof(ImageSize) == 2 * sizeof(int64_t));
    const nb::object all =
        array(column.sizes.data(), nb::dtype<int64_t>(), {column.sizes.size(), 2}, owner_);
    return single_ ? nb::object(all[0]) : all;
  }

  nb::object of_images(const OutputFeature& feature) const {
    const ImageColumn& column = images_[feature.image];
    if (!column.images.empty()) {
      nb::list list;
      for (const SizedImage& image : column.images) {
        list.append(image_array(image.values, image.format, std::nullopt, owner_));
      }
      return single_ ? nb::object(list[0]) : nb::object(list);
    }
    const ImageBatch& batch = column.batch;
    nb::object all = feature.form == FeatureForm::image
                         ? image_array(batch.bytes(), batch.format(), batch.size(), owner_)
                         : array(batch.labels(), {batch.size()}, owner_);
    return single_ ? nb::object(all[0]) : all;
  }

  static std::vector<size_t> with_shape(size_t rows, std::span<const size_t> shape) {
    std::vector<size_t> all{rows};
    all.insert(all.end(), shape.begin(), shape.end());
    return all;
  }

  // With one row, its values; else a Ragged.
  template <class ColumnValues>
  nb::object rows_of(const ColumnValues& values, const std::vector<size_t>& shape,
                     std::span<const int64_t> row_splits) const {
    nb::object all = array(values, shape, owner_);
    return single_ ? all : ragged(all, row_splits, owner_);
  }

  nb::object tensors(const TensorColumn& column, size_t rows, const OutputFeature& feature) const {
    const bool is_ragged = !column.row_splits.empty();
    const size_t items = is_ragged ? static_cast<size_t>(column.row_splits.back()) : rows;
    nb::object all =
        array(column.values.data(), feature.dtype, with_shape(items, column.shape), owner_);
    if (is_ragged) return single_ ? all : ragged(all, column.row_splits, owner_);
    return single_ ? nb::object(all[0]) : all;
  }

  nb::handle owner_;
  const std::vector<ImageColumn>& images_;
  bool single_;
};

}  // namespace

std::unique_ptr<ParsedBatch> LeasePool::take() {
  const std::lock_guard lock(mutex_);
  ++counts_.batches;
  ++counts_.lent;
  if (spares_ == 0) {
    ++counts_.allocated;
    return std::make_unique<ParsedBatch>();
  }
  return std::move(spare_[--spares_]);
}

std::unique_ptr<ParsedBatch> LeasePool::lend(ParsedBatch& batch, bool with_presence) {
  std::unique_ptr<ParsedBatch> lent = take();
  std::swap(*lent, batch);
  if (!with_presence) lent->exchange_scratch(batch);  // stays in the pipeline
  return lent;
}

std::unique_ptr<ParsedBatch> LeasePool::lend(ImageBatch& batch, bool) {
  std::unique_ptr<ParsedBatch> lent = take();
  lent->images.resize(1);
  std::swap(lent->images[0].batch, batch);
  return lent;
}

void LeasePool::give_back(std::unique_ptr<ParsedBatch> batch) noexcept {
  const std::lock_guard lock(mutex_);
  --counts_.lent;
  if (!is_closed_ && spares_ < kMaxSpare) spare_[spares_++] = std::move(batch);
}

void LeasePool::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  while (spares_ > 0) spare_[--spares_].reset();
}

LeasePool::Counts LeasePool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

nb::object make_owner(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool) {
  auto lease = std::make_unique<Lease>(pool, std::move(lent));
  return nb::capsule(lease.release(), [](void* p) noexcept { delete static_cast<Lease*>(p); });
}

nb::object to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                     const ParseSpec& spec, bool single) {
  if (spec.collator.tfds()) {
    return dict_to_python(std::move(lent), pool, single);
  }
  const ParsedBatch& batch = *lent;
  const nb::object owner = make_owner(std::move(lent), pool);
  if (const rlds::StepCollator* const steps = spec.collator.steps()) {
    return steps_to_python(batch.steps, *steps, owner, single);
  }
  const Columns columns(owner, batch.images, single);
  if (!spec.collator.is_sequence()) {
    return columns.dict(batch.example, batch.example.size(), spec.outputs);
  }
  const size_t rows = batch.sequence.size();
  return nb::make_tuple(columns.dict(batch.sequence.context(), rows, spec.outputs),
                        columns.dict(batch.sequence.feature_lists(), rows, spec.feature_lists));
}

nb::object parsed_rows(const std::shared_ptr<LeasePool>& pool, const ParseSpec& spec, size_t rows,
                       bool single, const std::function<void(ParsedBatch&)>& set) {
  std::unique_ptr<ParsedBatch> lent;
  {
    const GilRelease no_gil;
    lent = pool->take();
    try {
      spec.collator.reset(*lent, rows);
      set(*lent);
      spec.collator.finish(*lent);
    } catch (...) {
      pool->give_back(std::move(lent));
      throw;
    }
  }
  return to_python(std::move(lent), pool, spec, single);
}

}  // namespace recordpipe::python
