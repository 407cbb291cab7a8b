// The decoders behind decode_image.h, one per library; only their sources include the libraries'
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/image/decode_image.h"

namespace recordpipe {

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  ImageInfo info(std::span<const std::byte> file);
  // `choose`: or empty, for the whole image. Decodes to 8 bits, as stored: of `options`, `bits` and
  // `orientation` are the caller's work.
  void decode(std::span<const std::byte> file, const DecodeOptions& options,
              const ImageDecoder::ChoosePart& choose, DecodedImage& image);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class PngDecoder {
 public:
  ImageInfo info(std::span<const std::byte> file);
  // The same; decodes to `bits`.
  void decode(std::span<const std::byte> file, const DecodeOptions& options,
              const ImageDecoder::ChoosePart& choose, DecodedImage& image);
};

// A format whose images are decoded whole, to RGBA.
class RgbaDecoder {
 public:
  virtual ~RgbaDecoder() = default;
  virtual ImageInfo info(std::span<const std::byte> file) const = 0;
  // `rgba`: [height, width, 4] of info(). With `accept_damaged`, what is missing is 0.
  virtual void decode(std::span<const std::byte> file, bool accept_damaged,
                      std::vector<uint8_t>& rgba) const = 0;
};

class GifDecoder final : public RgbaDecoder {
 public:
  ImageInfo info(std::span<const std::byte> file) const override;
  void decode(std::span<const std::byte> file, bool accept_damaged,
              std::vector<uint8_t>& rgba) const override;
};

class BmpDecoder final : public RgbaDecoder {
 public:
  ImageInfo info(std::span<const std::byte> file) const override;
  void decode(std::span<const std::byte> file, bool accept_damaged,
              std::vector<uint8_t>& rgba) const override;
};

class WebpDecoder final : public RgbaDecoder {
 public:
  ImageInfo info(std::span<const std::byte> file) const override;
  void decode(std::span<const std::byte> file, bool accept_damaged,
              std::vector<uint8_t>& rgba) const override;
};

// Throws Error{limit_exceeded} if the image has more than options.max_pixels pixels.
void check_pixels(const ImageInfo& info, const DecodeOptions& options);

// Returns the chosen part. Throws Error{invalid_argument} if it is not inside of the image, or for
// a denominator that is not possible.
ChosenPart chosen_part(const ImageDecoder::ChoosePart& choose, const ImageInfo& info);

// Returns Error{truncated}: a file of `format` ("JPEG") needs more than `file_size` bytes for its
// pixels.
Error too_few_bytes(const char* format, size_t file_size, const ImageInfo& info);

}  // namespace recordpipe
