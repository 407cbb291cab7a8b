// Decodes the Examples of TensorFlow Datasets to Dicts: what TFDS gives, leaf for leaf.
//
//     const ExampleDecoder decode(read_features(folder));
//     const Dict example = decode(record);
//     example.at("objects/bbox").array();  // float32 [objects, 4]
//
// | feature | value |
// | --- | --- |
// | Tensor, Scalar, BBoxFeature, Audio | an Array of the declared dtype and shape |
// | ClassLabel | an int64; Feature::names has the names |
// | Text, byte strings | a BytesArray |
// | Image | an Array [height, width, channels] of uint8, uint16 or float32; or the file's bytes |
// | FeaturesDict | a Dict |
// | Sequence, Dataset, Video | the values of all items in one array, with a dimension in front; for
// | |                          | dicts, in each of their values | | two and more Sequences around a
// feature | a RaggedArray | | images and encoded tensors of any size in a Dataset | a list of
// arrays |
//
// In batches (DictValue::stacking), values of a known shape are dense, those whose first dimension
// is unknown are ragged, and those of any other shape are lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/example/dict.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/record/record.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

// What there is in place of an optional feature that an Example doesn't have.
enum class MissingValues {
  mask,  // zeros or empty strings; DictValue::is_missing is set, and batches have "<name>_mask"
  fill,  // as TensorFlow: the least value of the dtype, false, or an empty string
};
std::string_view to_string(MissingValues missing);

struct ExampleOptions {
  // Whether images are decoded. Others are BytesArrays of their files.
  bool decode_images = true;
  // The paths of images that are not decoded, or, without decode_images, of those that are.
  // ExampleDecoder throws Error{invalid_argument} for a path that is no image.
  std::vector<std::string> except = {};
  MissingValues missing = MissingValues::mask;
  // Of JPEG files. TFDS has the fast one.
  Dct dct = Dct::fast;
  // The largest image, in pixels (all images of one sequence together: 16 times as many), and the
  // largest value of other features, in bytes.
  uint64_t max_pixels = uint64_t{1} << 26;
  uint64_t max_bytes = uint64_t{1} << 30;
};

// Thread-safe. Copies share the features.
class ExampleDecoder {
 public:
  // Throws Error{unsupported}, by name, for features that can't be decoded: an unknown dimension
  // inside of a sequence (but for encoded tensors and images), Datasets in sequences.
  explicit ExampleDecoder(Feature features, ExampleOptions options = {});
  ~ExampleDecoder();
  ExampleDecoder(const ExampleDecoder&);
  ExampleDecoder& operator=(const ExampleDecoder&);

  const Feature& features() const;
  // The leaves, in the order of Feature's tree.
  std::vector<Leaf> leaves() const;

  // Features of the Example that are not in features.json are ignored. Throws Error with the
  // record's path and offset, and the feature's name in the reason:
  //   corrupted       the record is not an Example; damaged compressed values or images
  //   not_found       a feature is missing, and is not optional
  //   unsupported     another kind or number of values than declared; an image of another size or
  //                   format; images of different sizes in one Sequence
  //   limit_exceeded  options.max_pixels, options.max_bytes
  Dict operator()(const Record& record) const;

  // Features and options, for the plan.
  std::vector<Parameter> parameters() const;

 private:
  friend class ExamplesCollator;
  // Without the leaves of these numbers, which the Dicts don't have.
  ExampleDecoder(Feature features, ExampleOptions options, const std::vector<bool>& skipped);
  // Whether all leaves are skipped.
  bool is_empty() const;

  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace recordpipe::tfds
