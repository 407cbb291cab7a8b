// steps: the single steps of all episodes of an RLDS data set, with a window around each.
//
//     const auto reader = std::make_shared<const StepReader>(
//         tfds::read_features("data/robot_a/1.0.0"),
//         std::vector<EpisodeSlice>{{"data/robot_a/1.0.0/robot_a-train.tfrecord-00000-of-00001"}},
//         StepsOptions{.offsets = {{"action", {0, 1, 2, 3, 4, 5, 6, 7}}}});
//     const auto batches = steps(reader).shuffle(100'000, 7).batch(64, DropRemainder::yes,
//                                                                  StepCollator(reader));
//     for (const StepBatch& batch : batches) use(batch.array("action"));  // [64, 8, 7]
//
// A Step is a number: operators that order steps (shuffle, global_shuffle, repeat, shard,
// sample_from_datasets, ...) move 24 bytes for each, and never hold values or images. A step's row
// is computed from the record of its episode when its batch is made: only the bytes of that step
// and of its window are read, and only its own images are decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/example/dict.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/rlds/episode_files.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::rlds {

// What a place of a window before the first or after the last step of the episode holds.
enum class Pad {
  edge,  // the values of the first or last step
  zero,  // zeros, and empty byte strings; of images: zeros in the batch
};

struct StepsOptions {
  // The features of a row: the name in the batch, and the path in features.json, of a step's
  // feature
  // ("observation/image"; "observation" stands for all below it) or else of an episode's
  // ("episode_metadata/file_path"). Empty (default): all of a step. Names are joined with "/".
  std::vector<std::pair<std::string, std::string>> features = {};
  // The windows: the name in the batch, of a feature or of all below it, and the steps relative to
  // the row's, in the order of the window. Features without offsets have no window: they are those
  // of the step itself.
  std::vector<std::pair<std::string, std::vector<int64_t>>> offsets = {};
  Pad pad = Pad::edge;
};

// A feature of a row.
struct StepColumn {
  bool operator==(const StepColumn&) const = default;

  std::string name;
  std::optional<TensorType> type;  // nothing: byte strings; an image is the bytes of its file
  std::vector<size_t> shape;       // of one step
  std::optional<size_t> window;    // the number of offsets
  bool is_image = false;
  // The number of values differs between steps: a nested sequence, or an encoded tensor of unknown
  // shape. It is read by value(); `shape` is {}.
  bool is_ragged = false;

  // [window, shape...].
  std::vector<size_t> row_shape() const;
};

// "<name>_mask" of an entry of StepsOptions::offsets that has other offsets than 0: bools
// [window], true where the step exists.
struct StepMask {
  bool operator==(const StepMask&) const = default;

  std::string name;
  size_t window = 0;
};

// The steps of one data set, and how their rows are made. Thread-safe.
class StepReader {
 public:
  // Throws Error{invalid_argument} for features without steps, for unknown names, for features of
  // an episode with offsets, and for tensors of unknown shape that would be padded with zeros;
  // Error{unsupported}, by name, for optional features of an episode, and for what TFDS can't read
  // or write in the steps: sequences of a fixed length, and tensors of unknown shape without an
  // encoding; the errors of EpisodeFiles::open().
  StepReader(const tfds::Feature& features, const std::vector<EpisodeSlice>& slices,
             const StepsOptions& options, const StepIndexOptions& index = {},
             FileSystem& file_system = posix_file_system());
  ~StepReader();
  // A reader of these episodes only, in this order; the files stay open, and their indexes are used
  // again. Throws as EpisodeFiles::chosen().
  std::shared_ptr<const StepReader> chosen(std::span<const uint64_t> episodes) const;
  // What the index finds of an episode without reading its steps, as a serialized Example, by which
  // episodes can be chosen (Where, toolkit/where.h): the features of a known size that are not of
  // the steps ("episode_metadata/success"), without those that the record lacks, and "steps" (the
  // name of the Dataset feature): their number.
  std::string episode(uint64_t number) const;

  const EpisodeFiles& files() const;
  std::span<const StepColumn> columns() const;
  std::span<const StepMask> masks() const;
  Pad pad() const;
  // Whether a place of the column's window may be before the first or after the last step.
  bool is_padded(size_t column) const;
  bool is_of_episode(size_t column) const;
  // Whether rows of both readers fit in one batch: they have the same columns and masks.
  bool fits(const StepReader& other) const;
  // What a saved state compares: the columns, their windows and the content of the files.
  std::vector<Parameter> parameters() const;

  // The place of a row, for the functions below.
  struct Row {
    StepPlace place;
    Record record;
  };
  Row row(uint64_t step) const;
  // The step of the episode that window place `at` of a column shows; nothing if it is padded with
  // zeros. 0 for a feature of the episode.
  std::optional<uint64_t> step_of(const Row& row, size_t column, size_t at) const;
  // Writes the numbers of a column, [window, shape...].
  void write(const Row& row, size_t column, std::byte* out) const;
  // Byte string `number` of the column's shape at step `step` of the episode. Valid as long as the
  // reader, or until `scratch` is changed.
  std::span<const std::byte> bytes(const Row& row, size_t column, uint64_t step, size_t number,
                                   std::vector<std::byte>& scratch) const;
  // The value of a ragged column, as tfds::ExampleDecoder gives it; images are the bytes of their
  // files. With a window, it has a dimension in front for the places of the window; those that are
  // padded with zeros are empty.
  DictValue value(const Row& row, size_t column) const;
  // Writes a byte for each place of the window: 1 if the step exists, or 0.
  void write_mask(const Row& row, size_t mask, std::byte* out) const;
  // Starts to read the large values of a step from the disk, without waiting.
  void prefetch(uint64_t step) const;

 private:
  struct State;
  explicit StepReader(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

// An element of steps(): cheap to copy and to keep.
struct Step {
  std::shared_ptr<const StepReader> reader = {};
  uint64_t number = 0;
  std::vector<Random> randoms = {};  // of the images with random distortions, in order

  friend uint64_t heap_bytes(const Step& step) { return step.randoms.capacity() * sizeof(Random); }
};

// Yields the steps in the order of the episodes. Supports random access. Saved states name the
// content of the files, whatever their folder.
Dataset<Step> steps(std::shared_ptr<const StepReader> reader);

}  // namespace recordpipe::rlds
