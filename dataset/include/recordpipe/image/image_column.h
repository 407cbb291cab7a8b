// A column of images in a batch: each image is decoded, cropped, resized, flipped and normalised in
// one pass, from its stored bytes to its row. CMake target: recordpipe::image_batches.
//
//     const ImageColumnCollator images(spec);
//     images.reset(column, 64);
//     for (size_t row = 0; row < 64; ++row) {  // by any number of threads at once
//       images.set(column, row, jpegs[row], Random(key, epoch, index[row]), {path, offset[row]});
//     }
//     images.finish(column);
//     use(column.batch.floats());
//
// The bytes of a row are a function of the image, the spec and the random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/image_spec.h"
#include "recordpipe/image/resized_crop.h"
#include "recordpipe/philox.h"

namespace recordpipe {

// The record that an image is from, for errors.
struct ImageOrigin {
  std::string_view path = {};  // of the file; empty: unknown, and the offset means nothing
  uint64_t offset = 0;         // of the record, as Record::offset
};

namespace internal {

class ImageCodecs;
struct PixelView;

// An image whose row has no place before the size of the batch's images is known.
struct WaitingImage {
  ImageSize size = {};
  size_t channels = 0;
  std::vector<uint8_t> pixels = {};  // [channels, height, width]
  Random random = Random(0, 0, 0);
  std::string path = {};  // of its origin
  uint64_t offset = 0;
};

}  // namespace internal

struct ImageColumn {
  ImageBatch batch = {};  // complete after finish()

  std::vector<internal::WaitingImage> waiting = {};  // between reset() and finish()
};
uint64_t heap_bytes(const ImageColumn& column);

// Computes the rows of ImageColumns. Copies share codecs and their memory. Thread-safe; one column
// may be set by several threads, each with its own rows.
class ImageColumnCollator {
 public:
  // Throws Error{invalid_argument} as spec.check().
  explicit ImageColumnCollator(const ImageSpec& spec);

  const ImageSpec& spec() const { return spec_; }

  // Starts a column of `rows` rows, and reuses its memory.
  void reset(ImageColumn& column, size_t rows) const;
  // Computes a row from `bytes`, which are not used after the call; must be called once per row.
  //   random: the random numbers of the distortion
  //   next:   if the bytes are raw pixels: the pixels that are read next, of the same size, to be
  //           prefetched into the CPU cache (default: unknown)
  // Throws Error with the path and offset of `origin`:
  //   unsupported, truncated, corrupted, limit_exceeded   as decode_image() and Resizer
  //   unsupported   raw pixels of another size, an image that is smaller than its crop, or of
  //                 another number of channels than ImageSpec::normalized_channels
  void set(ImageColumn& column, size_t row, std::span<const std::byte> bytes, const Random& random,
           const ImageOrigin& origin = {}, const uint8_t* next = nullptr) const;
  // Completes the batch, after all rows were set. Throws Error{unsupported}, with the origin of the
  // image, for an image of another size than the first.
  void finish(ImageColumn& column) const;

 private:
  // Where the resized crop of the image is; nothing for another distortion.
  std::optional<ResizedCrop> resized_crop(const ImageSize& image, Random random) const;
  void read_raw(ImageColumn& column, size_t row, std::span<const std::byte> bytes,
                const Random& random, const ImageOrigin& origin, const uint8_t* next) const;
  void read_file(ImageColumn& column, size_t row, std::span<const std::byte> bytes,
                 const Random& random, const ImageOrigin& origin) const;
  void place(ImageColumn& column, size_t row, const internal::PixelView& image,
             const Random& random, const ImageOrigin& origin, const uint8_t* next) const;
  // `pixels`: [channels, size.height, size.width].
  void write(std::span<const uint8_t> pixels, const ImageSize& size, Random random,
             const ImageFormat& format, std::byte* out, const uint8_t* next) const;
  void check_channels(size_t channels) const;

  ImageSpec spec_;
  ImageFormat format_;
  bool is_sized_;  // the format is known before the images
  std::shared_ptr<internal::ImageCodecs> codecs_;
};

}  // namespace recordpipe
