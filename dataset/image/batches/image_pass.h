// The one pass over an image: from its stored bytes, through all that its ImageSpec says, to the
// memory of its row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "dataset/image/batches/image_codecs.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/image/batches/image_spec.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"
#include "recordpipe/image/resize.h"
#include "recordpipe/image/resized_crop.h"

namespace recordpipe::internal {

// Returns the memory of a row, format.bytes_per_image() bytes, aligned for the dtype. The format is
// known when the image is.
using RowMemory = std::function<std::byte*(const ImageFormat& format)>;

// Thread-safe.
class ImagePass {
 public:
  // Throws Error{invalid_argument} as spec.check().
  explicit ImagePass(const ImageSpec& spec);

  const ImageSpec& spec() const { return spec_; }
  // ImageSpec::format()
  const ImageFormat& format() const { return format_; }

  // As ImageColumnCollator::set() and check(), with errors that don't know the record.
  void compute(std::span<const std::byte> bytes, const Random& random, const uint8_t* next,
               const RowMemory& memory) const;
  void check(std::span<const std::byte> bytes) const;

 private:
  struct PixelView;
  struct Row;

  void read_raw(std::span<const std::byte> bytes, Row& row) const;
  void read_file(std::span<const std::byte> bytes, Row& row) const;
  // Where the resized crop of the image is; nothing for another distortion.
  std::optional<ResizedCrop> resized_crop(const ImageSize& image, Random& random) const;
  // Resizes `part`, and writes it.
  template <class Value>
  void place_resized(Resizer& resizer, std::span<const Value> part, size_t channels,
                     const Resized& resized, Row& row) const;
  // Writes an image that is resized as far as it will be.
  template <class Value>
  void place(const PixelView& image, std::span<const Value> values, Row& row) const;
  // `planes`: [channels, size.height, size.width].
  template <class Value>
  void write(std::span<const Value> planes, const ImageSize& size, const ImageFormat& format,
             Row& row) const;
  void write_recolored(std::span<const uint8_t> planes, const ImageSize& size,
                       const ImageFormat& format, Row& row) const;
  void check_row(const ImageSize& size, size_t channels) const;
  void check_channels(size_t channels) const;
  void check_recolored(const ImageSize& size) const;

  ImageSpec spec_;
  ImageFormat format_;
  mutable ImageCodecs codecs_;
};

}  // namespace recordpipe::internal
