// Images in sequences, for the operators of single images: all images of an Example's sequence go
// from the bytes of their files to one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/example/dict.h"
#include "recordpipe/image/batches/image_column.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/features.h"

namespace recordpipe::tfds {

// Thread-safe.
class SequenceImages {
 public:
  // `leaf`: an image in one or several sequences. Throws Error{invalid_argument} for images that
  // are padded or listed.
  SequenceImages(const Leaf& leaf, const ImageSpec& spec, const ExampleOptions& options);

  // Replaces the files in `value` (a BytesArray, or a RaggedArray of one) by an array of the
  // images, [images, height, width, channels]. All of them have the random numbers `random`, as the
  // images of a window. Its stacking is that of the sequence if the size of the images is known
  // from the spec or from features.json, and a list if it is not (of lists, for nested sequences).
  // Throws as ImageColumnCollator::set, and Error with the path and offset of `origin`:
  //   unsupported     images of different size or number of channels
  //   limit_exceeded  more bytes than 16 images of ExampleOptions::max_pixels
  void set(DictValue& value, const ImageColumnCollator& images, const Random& random,
           const ImageOrigin& origin) const;
  // Throws what set() can throw, whatever the random numbers are. May change `value`.
  void check(DictValue& value, const ImageColumnCollator& images, const ImageOrigin& origin) const;

 private:
  Array decoded(const BytesArray& files, const ImageColumnCollator& images, const Random& random,
                const ImageOrigin& origin) const;
  void check_bytes(uint64_t images, uint64_t bytes_of_each, const ImageSpec& spec,
                   const ImageOrigin& origin) const;

  ImageFormat item_;  // of one image; unknown numbers are 0
  bool is_known_ = false;
  uint64_t max_bytes_ = 0;
};

}  // namespace recordpipe::tfds
