// Batches of steps: the rows of Steps (steps.h), written in parallel to their places in the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/example/dict_batch.h"
#include "recordpipe/image/batches/image_column.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/rlds/steps.h"

namespace recordpipe::rlds {

// The names of StepColumns and StepMasks are nested at each "/".
struct StepBatch {
  // Arrays of numbers [rows, window, shape...] and of byte strings, without the window dimension
  // for columns that have none; ragged columns as DictCollator stacks their values; masks [rows,
  // window] of bools. The value of a decoded image is empty().
  Dict columns;
  // The decoded images, in the order of the collator's specs: image r * window + w is that of place
  // w of row r.
  std::vector<ImageColumn> images;
  size_t rows = 0;

  const Array& array(std::string_view name) const { return columns.at(name).array(); }
  const BytesArray& bytes(std::string_view name) const { return columns.at(name).bytes(); }

  // Between the collator's reset() and finish().
  struct BytesRow {
    std::vector<std::byte> bytes;
    std::vector<size_t> sizes;
  };
  std::vector<std::byte*> slots = {};               // of columns and masks with numbers
  std::vector<std::vector<BytesRow>> rows_of = {};  // by column
  DictBatch ragged = {};                            // the ragged columns

  friend uint64_t heap_bytes(const StepBatch& batch);
};

// Collates Steps, of one reader or of several whose columns are equal. Thread-safe.
class StepCollator {
 public:
  using Batch = StepBatch;

  // `images`: the columns that are decoded (ImageSpec::feature is the name of one), in the order of
  // StepBatch::images. All images of a window have the same random numbers. Throws
  // Error{invalid_argument} for a column that is not an image, for other ImageSizes than
  // equal, and as ImageSpec::check().
  explicit StepCollator(std::shared_ptr<const StepReader> reader,
                        const std::vector<ImageSpec>& images = {});

  const std::vector<ImageColumnCollator>& images() const { return images_; }
  const StepReader& reader() const { return *reader_; }
  const std::shared_ptr<const StepReader>& shared_reader() const { return reader_; }

  // Throws Error{invalid_argument}, with Pad::zero, for an image with a window whose size is not
  // known without decoding it: resize it.
  void reset(StepBatch& batch, size_t rows) const;
  // Throws the errors of reading a record, and of its values and images, with the path and offset
  // of the record; Error{invalid_argument} for a step whose reader has other columns.
  void set(StepBatch& batch, size_t row, Step&& step) const;
  // The same. Starts to read the images of `next`, which is read next, from the disk.
  void set(StepBatch& batch, size_t row, Step&& step, const Step& next) const;
  void finish(StepBatch& batch) const;
  // Throws what set() can throw, whatever the random numbers are, or returns the step:
  // steps.map([=](Step step) { return collator.checked(std::move(step)); }).ignore_errors() leaves
  // broken steps out, before batch(). Images as by ImageColumnCollator::check().
  Step checked(Step step) const;
  std::vector<Parameter> parameters() const;

 private:
  // Calls read(row) of the step; its errors get the path and offset of the record.
  template <class Read>
  void with_row(const Step& step, const Read& read) const;
  void check_sizes() const;
  void set_images(StepBatch& batch, size_t row, const StepReader::Row& at, const Step& step,
                  const StepReader& reader) const;
  Dict ragged_row(const StepReader::Row& at, const StepReader& reader) const;
  void set_bytes(StepBatch::BytesRow& out, size_t column, const StepReader::Row& at,
                 const StepReader& reader) const;

  std::shared_ptr<const StepReader> reader_;
  std::vector<ImageColumnCollator> images_;
  std::vector<size_t> image_columns_;            // of each image
  std::vector<std::optional<size_t>> image_of_;  // by column: the number of its image
};

// Draws the random numbers of the images of each step: for each spec that is_random(), in order, a
// map_with_random with the spec's seed. Call it last before batch(), behind shuffles, repeat and
// shard.
Dataset<Step> draw_images(const Dataset<Step>& steps, const StepCollator& collator);

}  // namespace recordpipe::rlds
