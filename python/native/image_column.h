// The column of an image feature in a batch: each image is decoded, distorted and normalised in one
// pass, from the bytes of its record to its row of the batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/element.h"
#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/normalization.h"
#include "recordpipe/parameter.h"
#include "recordpipe/philox.h"
#include "recordpipe/record.h"

namespace recordpipe::python {

// The bytes of a feature are pixels of this size.
struct RawPixels {
  ImageSize size;
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

// The window of the image that becomes the row. At most one per feature; std::monostate: the image.
struct RandomPadCropFlip {
  int pad = 4;
  uint64_t seed = 0;
};
struct RandomCropFlipColor {
  ImageSize crop;
  ColorRanges ranges;
  Standardize standardize = Standardize::yes;
  uint64_t seed = 0;
};
struct CentralCrop {
  ImageSize crop;
};
using Distortion =
    std::variant<std::monostate, RandomPadCropFlip, RandomCropFlipColor, CentralCrop>;

struct ImageSpec {
  std::string feature;
  std::variant<RawPixels, DecodeOptions> source;
  Distortion distortion = {};
  std::optional<Normalization> normalization = {};
  // The number of means and standard deviations that were given; 0: they hold for all channels.
  size_t normalized_channels = 0;
  std::optional<DType> dtype = {};  // default: uint8; float32 if values are not those of the image
  Layout layout = Layout::nhwc;

  // The seed of a random distortion.
  std::optional<uint64_t> seed() const;
  // The format of rows; for images that set the height, width or channels, it is 0.
  ImageFormat format() const;
  // Throws Error{invalid_argument} for parameters that contradict each other.
  void check() const;
  Parameter parameter() const;
};

// A record, and the random numbers of its images.
struct DrawnRecord {
  Record record = {};
  Random first = Random(0, 0, 0);   // of the first image with a random distortion
  std::vector<Random> others = {};  // of the images after it

  Random random(size_t index) const { return index == 0 ? first : others[index - 1]; }
  friend uint64_t heap_bytes(const DrawnRecord& drawn) {
    return recordpipe::heap_bytes(drawn.record) + drawn.others.capacity() * sizeof(Random);
  }
};

// Decoders of files, shared by threads.
class DecoderPool {
 public:
  explicit DecoderPool(const DecodeOptions& options);
  ~DecoderPool();
  // Calls use(const DecodedImage&).
  template <class Use>
  void decode(std::span<const std::byte> file, const Use& use);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An image whose row has no place before the size of the batch's images is known.
struct WaitingImage {
  Record record = {};  // for errors, and the owner of raw pixels
  ImageSize size = {};
  size_t channels = 0;
  std::vector<uint8_t> pixels = {};  // [channels, height, width]
  Random random = Random(0, 0, 0);
};

struct ImageColumn {
  ImageBatch batch = {};
  std::vector<WaitingImage> waiting = {};  // until finish()
};
uint64_t heap_bytes(const ImageColumn& column);

// Collates one feature. Thread-safe for different rows, like a collator.
class ImageColumnCollator {
 public:
  explicit ImageColumnCollator(const ImageSpec& spec);

  const ImageSpec& spec() const { return spec_; }
  void reset(ImageColumn& column, size_t rows) const;
  // `value`: the bytes of the feature, which point into `record`. `next`: bytes of the same size
  // that are read next, if they are raw pixels, or null. Throws Error with the record's path and
  // offset.
  void set(ImageColumn& column, size_t row, std::span<const std::byte> value, const Record& record,
           const Random& random, const uint8_t* next) const;
  // Throws Error{unsupported}, with the path and offset of the record, for an image of another size
  // than the first.
  void finish(ImageColumn& column) const;

 private:
  // `pixels`: [channels, size.height, size.width].
  void write(std::span<const uint8_t> pixels, const ImageSize& size, Random random,
             const ImageFormat& format, std::byte* out, const uint8_t* next) const;
  void check_channels(size_t channels) const;

  ImageSpec spec_;
  ImageFormat format_;
  bool is_sized_;  // the format is known before the images
  std::shared_ptr<DecoderPool> decoders_;
};

}  // namespace recordpipe::python
