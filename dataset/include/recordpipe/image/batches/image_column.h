// A column of images in a batch: each image is decoded, cropped, resized, flipped, changed in its
// colours and normalised in one pass, from its stored bytes to its row. CMake target:
// recordpipe::image_batches.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/base/internal/aligned_allocator.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"

namespace recordpipe {

// The record that an image is from, for errors.
struct ImageOrigin {
  std::string_view path = {};  // of the file; empty: unknown, and the offset means nothing
  uint64_t offset = 0;         // of the record, as Record::offset
};

namespace internal {
class ImagePass;
}  // namespace internal

// One image of a list.
struct SizedImage {
  ImageFormat format = {};
  // As ImageBatch::image_at: format.bytes_per_image() bytes.
  internal::AlignedVector<std::byte> values = {};
  std::string path = {};  // of its origin, for errors of finish()
  uint64_t offset = 0;
};

// Complete after finish().
struct ImageColumn {
  // With ImageSizes::equal and ImageSizes::padded.
  ImageBatch batch = {};
  // With ImageSizes::padded: of each image. What is below it and on its right is 0, also after a
  // normalisation.
  std::vector<ImageSize> sizes = {};
  // With ImageSizes::list: the images, which may also differ in their number of channels.
  std::vector<SizedImage> images = {};
};
uint64_t heap_bytes(const ImageColumn& column);

// Computes the rows of ImageColumns. Copies share codecs and their memory. Thread-safe; one column
// may be set by several threads, each with its own rows.
class ImageColumnCollator {
 public:
  static constexpr size_t kMaxPadding = 64;

  // Throws Error{invalid_argument} as spec.check().
  explicit ImageColumnCollator(const ImageSpec& spec);

  const ImageSpec& spec() const;

  // Starts a column of `rows` rows, and reuses its memory.
  void reset(ImageColumn& column, size_t rows) const;
  // Computes a row from `bytes`, which are not used after the call; must be called once per row.
  //   random: the random numbers of the distortion
  //   next:   if the bytes are raw pixels: the pixels that are read next, of the same size, to be
  //           prefetched into the CPU cache (default: unknown)
  // Throws Error with the path and offset of `origin`:
  //   unsupported, truncated, corrupted, limit_exceeded   as decode_image() and Resizer
  //   unsupported   raw pixels of another size, an image that is smaller than its crop, or of
  //                 another number of channels than ImageSpec::normalized_channels, or a color
  //                 jitter of another number than 1 or 3
  void set(ImageColumn& column, size_t row, std::span<const std::byte> bytes, const Random& random,
           const ImageOrigin& origin = {}, const uint8_t* next = nullptr) const;
  // Throws what set() can throw, whatever the random numbers are: for pipelines that leave broken
  // images out. Decodes the whole file, so it also notices damage outside of a crop. Takes less
  // time than set(): of a JPEG file, the pixels are not computed.
  void check(std::span<const std::byte> bytes, const ImageOrigin& origin = {}) const;
  // Completes the column, after all rows were set. Throws, with the origin of the image:
  //   unsupported     an image has another number of channels than the first, or, with
  //                   ImageSizes::equal, another size
  //   limit_exceeded  ImageSizes::padded: the padded batch has more than kMaxPadding times the
  //                   values of its images, and more than 2^28 values
  void finish(ImageColumn& column) const;

 private:
  std::shared_ptr<const internal::ImagePass> pass_;
  bool is_sized_ = false;  // rows are written to the batch: their format is known before the images
};

}  // namespace recordpipe
