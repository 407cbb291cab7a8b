// Batches of Examples with images: the features become columns, as by ExampleCollator, and each
// image is decoded, cropped, resized, flipped and normalised into its row (image_column.h). CMake
// target: recordpipe::image_batches.
//
//     const ExampleImagesCollator training(
//         {{"image/class/label", FixedLen{FeatureKind::int64s}}},
//         {{.feature = "image/encoded",
//           .source = DecodeOptions{.channels = 3},
//           .distortion = RandomResizedCrop{.to = {224, 224}},
//           .normalization = Normalization{.scale = Normalization::kToUnit},
//           .layout = Layout::nchw,
//           .seed = 7}});
//     const auto batches = draw_images(tfrecord_files(paths).global_shuffle(7), training)
//                              .batch(64, DropRemainder::yes, training)
//                              .prefetch();
//     for (const ExampleImagesBatch& batch : batches) {
//       train(batch.images[0].batch.floats(),
//             batch.example.dense<FeatureKind::int64s>("image/class/label").values);
//     }
//
// The bytes of a batch depend on the files, the plan and the seeds only: not on the number of
// threads, and not on whether the iterator was restored. They equal those of Python's
// decode_image(), random_resized_crop() and so on, with the same seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/example/example_schema.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/image/batches/image_column.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// A record, and the random numbers of its images.
struct DrawnRecord {
  Record record = {};
  Random first = Random(0, 0, 0);   // of the first image that is_random()
  std::vector<Random> others = {};  // of the random images after it

  const Random& random(size_t index) const { return index == 0 ? first : others[index - 1]; }
  friend uint64_t heap_bytes(const DrawnRecord& drawn) {
    return recordpipe::heap_bytes(drawn.record) + drawn.others.capacity() * sizeof(Random);
  }
};

struct ExampleImagesBatch {
  ExampleBatch example;             // the features that are not images
  std::vector<ImageColumn> images;  // in the order of the collator's specs

  friend uint64_t heap_bytes(const ExampleImagesBatch& batch) {
    return recordpipe::heap_bytes(batch.example) + recordpipe::heap_bytes(batch.images);
  }
};

// A collator of records, or of DrawnRecords if an image is random. Thread-safe for different
// batches.
class ExampleImagesCollator {
 public:
  using Batch = ExampleImagesBatch;

  // `images`: each has a feature of its own, of bytes, which is required. It is added to `schema`,
  // or is there as FixedLen{FeatureKind::bytes}, with a default value if it may be missing. Its
  // column in the example is not filled. Throws Error{invalid_argument} for another feature, as
  // ImageSpec::check(), and as ExampleCollator, which takes `unlisted` and `others`, too.
  explicit ExampleImagesCollator(const ExampleSchema& schema,
                                 const std::vector<ImageSpec>& images = {},
                                 std::shared_ptr<UnlistedFeatures> unlisted = nullptr,
                                 OtherMessages others = OtherMessages::accept);

  const std::vector<ImageColumnCollator>& images() const { return images_; }

  void reset(ExampleImagesBatch& batch, size_t rows) const;
  // Throw Error with the record's path and offset, as ExampleCollator::set and
  // ImageColumnCollator::set. `next` is the record that is read next: its bytes, or its raw pixels,
  // are prefetched into the CPU cache. A record that is not drawn has the random numbers of
  // Random(0, 0, 0).
  void set(ExampleImagesBatch& batch, size_t row, Record record) const;
  void set(ExampleImagesBatch& batch, size_t row, Record record, const Record& next) const;
  void set(ExampleImagesBatch& batch, size_t row, DrawnRecord drawn) const;
  void set(ExampleImagesBatch& batch, size_t row, DrawnRecord drawn, const DrawnRecord& next) const;
  // Throws what a batch of the record can throw, whatever its random numbers are, and returns the
  // record: records.map([=](Record record) { return collator.checked(record); }).ignore_errors()
  // leaves broken records out, before batch(). See ImageColumnCollator::check.
  Record checked(Record record) const;
  // Completes the columns. Throws as ImageColumnCollator::finish.
  void finish(ExampleImagesBatch& batch) const;

  // The schema and the specs as text, for descriptions and saved states.
  std::vector<Parameter> parameters() const;

 private:
  DrawnRecord undrawn(Record record) const;
  // `next`: the bytes of the record that is read next, or nothing.
  void set_images(ExampleImagesBatch& batch, size_t row, const DrawnRecord& drawn,
                  std::span<const std::byte> next) const;

  ExampleCollator features_;
  std::vector<ImageColumnCollator> images_;
};

// Draws the random numbers of each record's images: for each spec that is_random(), in order, a
// map_with_random with the spec's seed. Call it last before batch(), behind shuffles, repeat and
// shard.
Dataset<DrawnRecord> draw_images(const Dataset<Record>& records,
                                 const ExampleImagesCollator& collator);
Dataset<DrawnRecord> draw_images(const Dataset<Record>& records,
                                 std::span<const ImageColumnCollator> images);

}  // namespace recordpipe
