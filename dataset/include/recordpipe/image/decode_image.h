// JPEG and PNG files in memory to pixels, for image records of other people's files. By
// libjpeg-turbo and libpng; target recordpipe::image_codecs.
//
// The files may come from anyone: sizes are checked from the header before memory is taken, and
// what is wrong with a file is an Error with the offset in it, never a message, an exit or a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace recordpipe {

enum class ImageFileFormat { jpeg, png };

struct ImageInfo {
  ImageFileFormat format = ImageFileFormat::jpeg;
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;       // what decoding with channels = 0 gives
  int bits_per_channel = 8;  // as stored: 1, 2, 4, 8 or 16; decoding always gives 8

  bool operator==(const ImageInfo&) const = default;
};

struct DecodeOptions {
  // 1 grey, 3 RGB, 4 RGB and alpha, 255 where the file has none. 0: as tf.io.decode_image, which is
  // what the file has: 1 to 4 for PNG (2: grey and alpha; a palette's colours are 3, or 4 where
  // some are transparent), 1 or 3 for JPEG (3 also for CMYK and YCCK).
  // Colours become grey by 0.299 R + 0.587 G + 0.114 B; alpha that isn't asked for is dropped.
  int channels = 0;
  // An image of more pixels is refused: 64 Mi, which is 256 MiB of RGB and alpha. Progressive JPEGs
  // take up to eight times as many bytes while they are decoded.
  uint64_t max_pixels = uint64_t{1} << 26;
  // Takes what can be made of a file that is cut off or damaged: the rest is what the codec fills
  // in, grey for JPEG and zeros for PNG. False: such a file is an Error. The header must be whole.
  bool accept_damaged = false;
};

struct DecodedImage {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;
  std::vector<uint8_t> pixels;  // [height, width, channels]
};

// All of these throw recordpipe::Error, without a path:
//   unsupported       neither JPEG nor PNG, or a kind of JPEG that the library doesn't decode
//   truncated         the file ends too early
//   corrupted         it contradicts itself
//   limit_exceeded    too many pixels, or a JPEG of more than 500 scans
//   invalid_argument  options.channels is none of 0, 1, 3 and 4

// From the header alone, however large the image.
ImageInfo image_info(std::span<const std::byte> file);

DecodedImage decode_image(std::span<const std::byte> file, const DecodeOptions& options = {});

// The same for many images: keeps its memory from one to the next. For one thread at a time.
class ImageDecoder {
 public:
  explicit ImageDecoder(const DecodeOptions& options = {});
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;
  ~ImageDecoder();

  // Valid until the next call. An Error leaves the decoder ready for the next image.
  const DecodedImage& decode(std::span<const std::byte> file);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
