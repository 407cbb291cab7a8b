#include "recordpipe/rlds/step_batch.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dataset/base/require.h"
#include "recordpipe/base/error.h"

namespace recordpipe::rlds {
namespace {

// Sets a value in nested Dicts.
void set_at(Dict& dict, std::string_view path, DictValue value) {
  Dict* at = &dict;
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    DictValue* next = nullptr;
    for (DictEntry& entry : at->entries()) {
      if (entry.name == name) next = &entry.value;
    }
    at = next ? &next->dict() : &at->set(name, Dict()).dict();
    path.remove_prefix(slash + 1);
  }
  at->set(std::string(path), std::move(value));
}

std::vector<size_t> batch_shape(size_t rows, const std::vector<size_t>& row) {
  std::vector<size_t> shape{rows};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

size_t product(const std::vector<size_t>& shape) {
  size_t size = 1;
  for (const size_t dimension : shape) size *= dimension;
  return size;
}

size_t row_bytes(const StepColumn& column) {
  return product(column.row_shape()) * size_of(*column.type);
}

void resize(Array& array, size_t rows, const std::vector<size_t>& row_shape) {
  array.shape = batch_shape(rows, row_shape);
  array.bytes.resize(product(array.shape) * size_of(array.type));
}

// The columns of an empty batch.
Dict empty_columns(const StepReader& reader, std::span<const std::optional<size_t>> image_of) {
  Dict dict;
  const auto columns = reader.columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    DictValue value;
    if (columns[i].is_ragged) {
      // finish() sets it.
    } else if (columns[i].type) {
      value = Array{*columns[i].type, {}};
    } else if (!image_of[i]) {
      value = BytesArray{};
    }
    set_at(dict, columns[i].name, std::move(value));
  }
  for (const StepMask& mask : reader.masks()) {
    set_at(dict, mask.name, Array{TensorType::boolean, {}});
  }
  return dict;
}

bool is_sized(const ImageFormat& format) {
  return format.height > 0 && format.width > 0 && format.channels > 0;
}

}  // namespace

uint64_t heap_bytes(const StepBatch& batch) {
  uint64_t bytes = heap_bytes(batch.columns) + heap_bytes(batch.ragged);
  for (const ImageColumn& image : batch.images) bytes += heap_bytes(image);
  for (const auto& rows : batch.rows_of) {
    for (const StepBatch::BytesRow& row : rows) bytes += row.bytes.capacity();
  }
  return bytes;
}

StepCollator::StepCollator(std::shared_ptr<const StepReader> reader,
                           const std::vector<ImageSpec>& images)
    : reader_(std::move(reader)), image_of_(reader_->columns().size()) {
  const auto columns = reader_->columns();
  for (const ImageSpec& spec : images) {
    const auto at = std::ranges::find(columns, spec.feature, &StepColumn::name);
    const auto may_be_image = [](const StepColumn& column) {
      return !column.type && !column.is_ragged && column.shape.empty();
    };
    if (at == columns.end() || !may_be_image(*at)) {
      std::string known;
      for (const StepColumn& column : columns) {
        if (!may_be_image(column)) continue;
        known += (known.empty() ? "bytes are " : ", ") + printable(column.name);
      }
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "'" + printable(spec.feature) + "' is not an image of the steps",
                   .hint = known});
    }
    require(spec.sizes == ImageSizes::equal,
            "image '" + printable(spec.feature) + "': images of steps are not of different size",
            "resize or crop it");
    const auto column = static_cast<size_t>(at - columns.begin());
    images_.emplace_back(spec);
    image_of_[column] = image_columns_.size();
    image_columns_.push_back(column);
  }
}

void StepCollator::check_sizes() const {
  if (reader_->pad() != Pad::zero) return;
  for (size_t i = 0; i < images_.size(); ++i) {
    const ImageSpec& spec = images_[i].spec();
    if (!reader_->is_padded(image_columns_[i]) || is_sized(spec.format())) continue;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "image '" + printable(spec.feature) +
                           "' is padded with zeros, and has no size before it is decoded",
                 .hint = "resize or crop it, give decode_image() channels, or pad with the edge"});
  }
}

void StepCollator::reset(StepBatch& batch, size_t rows) const {
  check_sizes();
  const auto columns = reader_->columns();
  if (batch.columns.empty()) batch.columns = empty_columns(*reader_, image_of_);
  batch.rows = rows;
  batch.slots.clear();
  batch.rows_of.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    std::byte* slot = nullptr;
    if (columns[i].is_ragged) {
      DictCollator().reset(batch.ragged, rows);
    } else if (columns[i].type) {
      Array& array = batch.columns.at(columns[i].name).array();
      resize(array, rows, columns[i].row_shape());
      slot = array.bytes.data();
    } else if (!image_of_[i]) {
      batch.rows_of[i].resize(rows);
    }
    batch.slots.push_back(slot);
  }
  for (const StepMask& mask : reader_->masks()) {
    Array& array = batch.columns.at(mask.name).array();
    resize(array, rows, {mask.window});
    batch.slots.push_back(array.bytes.data());
  }
  batch.images.resize(images_.size());
  for (size_t i = 0; i < images_.size(); ++i) {
    images_[i].reset(batch.images[i], rows * columns[image_columns_[i]].window.value_or(1));
  }
}

Dict StepCollator::ragged_row(const StepReader::Row& at, const StepReader& reader) const {
  Dict row;
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    const StepColumn& column = reader.columns()[i];
    if (column.is_ragged) row.append(column.name, reader.value(at, i));
  }
  return row;
}

void StepCollator::set_bytes(StepBatch::BytesRow& out, size_t column, const StepReader::Row& at,
                             const StepReader& reader) const {
  out.bytes.clear();
  out.sizes.clear();
  const size_t count = product(reader.columns()[column].shape);
  std::vector<std::byte> scratch;
  for (size_t place = 0; place < reader.columns()[column].window.value_or(1); ++place) {
    const auto step = reader.step_of(at, column, place);
    for (size_t i = 0; i < count; ++i) {
      std::span<const std::byte> value;
      if (step) value = reader.bytes(at, column, *step, i, scratch);
      out.bytes.insert(out.bytes.end(), value.begin(), value.end());
      out.sizes.push_back(value.size());
    }
  }
}

void StepCollator::set_images(StepBatch& batch, size_t row, const StepReader::Row& at,
                              const Step& step, const StepReader& reader) const {
  std::vector<std::byte> scratch;
  size_t drawn = 0;
  for (size_t i = 0; i < images_.size(); ++i) {
    const size_t column = image_columns_[i];
    ImageBatch& pixels = batch.images[i].batch;
    const bool sized = is_sized(images_[i].spec().format());
    const bool is_random = images_[i].spec().is_random();
    const Random random =
        is_random && drawn < step.randoms.size() ? step.randoms[drawn] : Random(0, 0, 0);
    if (is_random) ++drawn;
    const size_t window = reader.columns()[column].window.value_or(1);
    std::optional<uint64_t> before;  // the step in the place before
    for (size_t place = 0; place < window; ++place) {
      const size_t image = row * window + place;
      const auto found = reader.step_of(at, column, place);
      if (!found) {
        std::memset(pixels.image_at(image), 0, pixels.format().bytes_per_image());
      } else if (sized && found == before) {
        std::memcpy(pixels.image_at(image), pixels.image_at(image - 1),
                    pixels.format().bytes_per_image());
      } else {
        images_[i].set(batch.images[i], image, reader.bytes(at, column, *found, 0, scratch), random,
                       {at.record.path, at.record.offset});
      }
      before = found;
    }
  }
}

template <class Read>
void StepCollator::with_row(const Step& step, const Read& read) const {
  const StepReader& reader = *step.reader;
  require(reader.fits(*reader_),
          "steps of other features, shapes or windows don't fit in one batch");
  const StepReader::Row at = reader.row(step.number);
  try {
    read(reader, at);
  } catch (const Error& error) {
    if (!error.path().empty()) throw;
    Error::Parts parts = error.parts();
    parts.path = at.record.path;
    parts.offset = at.record.offset;
    throw Error(std::move(parts));
  }
}

void StepCollator::set(StepBatch& batch, size_t row, Step&& step) const {
  with_row(step, [&](const StepReader& reader, const StepReader::Row& at) {
    const auto columns = reader.columns();
    if (Dict ragged = ragged_row(at, reader); !ragged.empty()) {
      DictCollator().set(batch.ragged, row, std::move(ragged));
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].is_ragged) continue;
      if (columns[i].type) {
        reader.write(at, i, batch.slots[i] + row * row_bytes(columns[i]));
      } else if (!image_of_[i]) {
        set_bytes(batch.rows_of[i][row], i, at, reader);
      }
    }
    for (size_t i = 0; i < reader.masks().size(); ++i) {
      reader.write_mask(at, i, batch.slots[columns.size() + i] + row * reader.masks()[i].window);
    }
    set_images(batch, row, at, step, reader);
  });
}

Step StepCollator::checked(Step step) const {
  with_row(step, [&](const StepReader& reader, const StepReader::Row& at) {
    const auto columns = reader.columns();
    StepBatch::BytesRow scratch;
    ragged_row(at, reader);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].is_ragged) continue;
      if (columns[i].type) {
        scratch.bytes.resize(row_bytes(columns[i]));
        reader.write(at, i, scratch.bytes.data());
      } else if (!image_of_[i]) {
        set_bytes(scratch, i, at, reader);
      }
    }
    for (size_t i = 0; i < images_.size(); ++i) {
      const size_t column = image_columns_[i];
      for (size_t place = 0; place < columns[column].window.value_or(1); ++place) {
        const auto found = reader.step_of(at, column, place);
        if (!found) continue;
        images_[i].check(reader.bytes(at, column, *found, 0, scratch.bytes),
                         {at.record.path, at.record.offset});
      }
    }
  });
  return step;
}

void StepCollator::set(StepBatch& batch, size_t row, Step&& step, const Step& next) const {
  next.reader->prefetch(next.number);
  set(batch, row, std::move(step));
}

void StepCollator::finish(StepBatch& batch) const {
  const auto columns = reader_->columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type || columns[i].is_ragged || image_of_[i]) continue;
    BytesArray& out = batch.columns.at(columns[i].name).bytes();
    out.shape = batch_shape(batch.rows, columns[i].row_shape());
    out.bytes.clear();
    out.splits.assign(1, 0);
    for (const StepBatch::BytesRow& row : batch.rows_of[i]) {
      out.bytes.insert(out.bytes.end(), row.bytes.begin(), row.bytes.end());
      for (const size_t size : row.sizes) {
        out.splits.push_back(out.splits.back() + static_cast<int64_t>(size));
      }
    }
  }
  const bool has_ragged = std::ranges::any_of(columns, &StepColumn::is_ragged);
  if (has_ragged) DictCollator().finish(batch.ragged);
  for (DictEntry& column : batch.ragged.columns.entries()) {
    batch.columns.at(column.name) = std::move(column.value);
  }
  for (size_t i = 0; i < images_.size(); ++i) images_[i].finish(batch.images[i]);
}

std::vector<Parameter> StepCollator::parameters() const {
  std::vector<Parameter> all;
  for (const ImageColumnCollator& image : images_) all.push_back(image.spec().parameter());
  return all;
}

Dataset<Step> draw_images(const Dataset<Step>& steps, const StepCollator& collator) {
  Dataset<Step> drawn = steps;
  for (const ImageColumnCollator& image : collator.images()) {
    if (!image.spec().is_random()) continue;
    drawn = drawn.map_with_random(image.spec().seed, [](Step step, const Random& random) {
      step.randoms.push_back(random);
      return step;
    });
  }
  return drawn;
}

}  // namespace recordpipe::rlds
