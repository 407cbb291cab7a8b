// The column of an image feature in a batch: each image is decoded, distorted and normalised in one
// pass, from the bytes of its record to its row of the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "python/native/image_spec.h"
#include "recordpipe/element.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/resized_crop.h"
#include "recordpipe/philox.h"
#include "recordpipe/record.h"

namespace recordpipe::python {

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

// What decodes and resizes images, shared by threads.
class CodecPool {
 public:
  explicit CodecPool(const DecodeOptions& options);
  ~CodecPool();
  struct Codec {
    ImageDecoder decoder;
    Resizer resizer = Resizer();
  };
  // Calls use(Codec&), with a codec that no other thread uses.
  template <class Use>
  void with_codec(const Use& use);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The pixels of an image, ready for its row but for what CropWindow and normalisation do.
struct ImagePixels {
  std::span<const uint8_t> values = {};
  ImageSize size = {};
  size_t channels = 0;
  Layout layout = Layout::nhwc;
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
  // Where the resized crop of the image is; nothing for another distortion.
  std::optional<ResizedCrop> resized_crop(const ImageSize& image, Random random) const;
  void read_raw(ImageColumn& column, size_t row, std::span<const std::byte> value,
                const Record& record, const Random& random, const uint8_t* next) const;
  void read_file(ImageColumn& column, size_t row, std::span<const std::byte> value,
                 const Record& record, const Random& random) const;
  void place(ImageColumn& column, size_t row, const ImagePixels& image, const Record& record,
             const Random& random, const uint8_t* next) const;
  // `pixels`: [channels, size.height, size.width].
  void write(std::span<const uint8_t> pixels, const ImageSize& size, Random random,
             const ImageFormat& format, std::byte* out, const uint8_t* next) const;
  void check_channels(size_t channels) const;

  ImageSpec spec_;
  ImageFormat format_;
  bool is_sized_;  // the format is known before the images
  std::shared_ptr<CodecPool> codecs_;
};

}  // namespace recordpipe::python
