// Batches of the Examples of TensorFlow Datasets, with images that go from the bytes of their
// record to their row in one pass.
//
//     const ExamplesCollator training(read_features(folder), {},
//                                     {{.feature = "image",
//                                       .source = DecodeOptions{.channels = 3},
//                                       .distortion = RandomResizedCrop{.to = {224, 224}},
//                                       .seed = 7}});
//     const auto batches = draw_images(records(info, ranges).global_shuffle(7), training.images())
//                              .batch(64, DropRemainder::yes, training);
//     for (const ExamplesBatch& batch : batches) {
//       train(batch.columns.at("image").array(), batch.columns.at("label").array());
//     }
//
// Without ImageSpecs, a batch equals that of ExampleDecoder and DictCollator.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/example/dict_batch.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/image/batches/example_images.h"
#include "recordpipe/image/batches/image_column.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/record/record.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

class PlainColumns;
class SequenceImages;

struct ExamplesBatch {
  // As those of a DictBatch.
  Dict columns;

  // While the batch is built: leaves that become columns at once, the others, and images.
  ExampleBatch plain = {};
  DictBatch dicts = {};
  std::vector<ImageColumn> images = {};

  // Exchanges the memory that only the building of columns needs: for a batch that is kept, while
  // `other` is used for the next one.
  void exchange_scratch(ExamplesBatch& other) noexcept {
    std::swap(plain, other.plain);
    std::swap(dicts, other.dicts);
    images.swap(other.images);
  }
  friend uint64_t heap_bytes(const ExamplesBatch& batch) {
    return recordpipe::heap_bytes(batch.columns) + heap_bytes(batch.plain) +
           recordpipe::heap_bytes(batch.dicts) + recordpipe::heap_bytes(batch.images);
  }
};

// Thread-safe for different batches.
class ExamplesCollator {
 public:
  using Batch = ExamplesBatch;

  // `images`: how images become rows of the batch; their `feature` is the path of an image,
  // "observation/image". Those of a sequence ("objects/crop") become an array [images, height,
  // width, channels] for each Example, with the same random numbers, in a RaggedArray of the batch;
  // a list of arrays if neither ImageSpec nor features.json tells their size. Other images are as
  // ExampleOptions says. Throws Error{invalid_argument} for another feature, an image of floats,
  // and sequences with other ImageSizes than equal, and as ExampleDecoder and ImageSpec::check().
  explicit ExamplesCollator(const Feature& features, const ExampleOptions& options = {},
                            const std::vector<ImageSpec>& images = {});

  const ExampleDecoder& decoder() const { return decoder_; }
  const ExampleOptions& options() const { return options_; }
  std::span<const ImageColumnCollator> images() const { return images_; }

  // How an image becomes a row without an operator: decoded as TFDS does. Throws
  // Error{invalid_argument} for a feature that is not an image of uint8 or uint16.
  ImageSpec image(const std::string& feature) const;
  // Returns the collator with this image, instead of the one of its feature.
  ExamplesCollator with_image(const ImageSpec& image) const;

  void reset(ExamplesBatch& batch, size_t rows) const;
  // Throw as ExampleDecoder and ImageColumnCollator::set; images of different size in one sequence
  // are Error{unsupported}. A record that is not drawn has the random numbers of Random(0, 0, 0).
  // `next` is the record that is read next, and may be prefetched into the CPU cache.
  void set(ExamplesBatch& batch, size_t row, const Record& record, const Record& next = {}) const;
  void set(ExamplesBatch& batch, size_t row, const DrawnRecord& drawn) const;
  // Throws what set() can throw, or returns the record: to leave broken Examples out
  // (ignore_errors). Images are checked as by ImageColumnCollator::check().
  Record checked(Record record) const;
  // Completes the columns. Images with ImageSizes::list become a list; those with
  // ImageSizes::padded have "<name>/size" at the end of their Dict: int64 [rows, 2]. Throws as
  // ImageColumnCollator::finish.
  void finish(ExamplesBatch& batch) const;

  std::vector<Parameter> parameters() const;

 private:
  void set_plain(ExamplesBatch& batch, size_t row, const Record& record, const Record& next) const;
  void set_dict(ExamplesBatch& batch, size_t row, const DrawnRecord& drawn) const;

  ExampleOptions options_;
  ExampleDecoder decoder_;
  std::shared_ptr<const PlainColumns> plain_;
  ExampleDecoder rest_;  // the leaves that are not plain
  std::vector<ImageColumnCollator> images_;
  std::vector<std::vector<std::string>> image_paths_;  // names of Dicts, and of the image
  std::vector<std::shared_ptr<const SequenceImages>> sequences_;  // null for single images
};

}  // namespace recordpipe::tfds
