// Decodes JPEG, PNG, WebP, GIF and BMP files in memory, the first three with libjpeg-turbo, libpng
// and libwebp. Of animations, the first frame is decoded. CMake target: recordpipe::image_codecs.
//
// The files are untrusted input: sizes in the header are checked before memory is allocated, and
// every defect of a file is an Error with its offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "recordpipe/image/image_size.h"

namespace recordpipe {

enum class ImageFileFormat { jpeg, png, gif, bmp, webp };
std::string_view to_string(ImageFileFormat format);  // "JPEG", "PNG", "GIF", "BMP", "WebP"

struct ImageInfo {
  ImageFileFormat format = ImageFileFormat::jpeg;
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;       // with DecodeOptions::channels = 0
  int bits_per_channel = 8;  // as stored: 1, 2, 4, 8 or 16
  // From EXIF (JPEG's APP1, PNG's eXIf, WebP's EXIF), 1 to 8: how the stored image must be turned
  // and mirrored; 1: not at all, and if the file doesn't say or says it wrongly. Height and width
  // are as stored, except for a ChoosePart with Orientation::upright.
  int orientation = 1;

  bool operator==(const ImageInfo&) const = default;
};

// The inverse DCT of JPEG files.
enum class Dct {
  accurate,  // rounds exactly, as PIL does and libjpeg by default
  // As tf.io.decode_image does. Values differ by up to 5 in smooth images, and by up to 18 in
  // photographs of quality 95. With libjpeg-turbo's vector code, the accurate one takes about as
  // long.
  fast,
};
std::string_view to_string(Dct dct);  // "accurate", "fast"

enum class Orientation {
  ignored,  // pixels as they are stored, as of tf.io.decode_image and PIL's Image.open
  upright,  // turned and mirrored as EXIF says, as by PIL's ImageOps.exif_transpose
};

struct DecodeOptions {
  // 1: grey; 3: RGB; 4: RGBA (alpha is 255 if the file has none). 0 (default): the channels of the
  // file, as in tf.io.decode_image: 1 to 4 for PNG (2: grey and alpha; a palette gives 3, or 4 with
  // transparency), 1 or 3 for JPEG (3 also for CMYK and YCCK), 3, or 4 with alpha, for the others.
  // Colour is converted to grey as 0.299 R + 0.587 G + 0.114 B. Alpha that was not requested is
  // dropped.
  int channels = 0;
  // Of a channel of the result: 8 (default) or 16, in DecodedImage::pixels16. To 8, the upper byte
  // of values of 16 bits is kept (libpng's png_set_strip_16); to 16, values of 8 bits are
  // multiplied by 257. Only PNG files store 16.
  int bits = 8;
  // The largest image, in pixels (default: 2^26, which is 256 MiB of RGBA of 8 bits). Decoding a
  // progressive JPEG takes up to eight times the memory of the decoded pixels.
  uint64_t max_pixels = uint64_t{1} << 26;
  // true: decode as much as possible of a truncated or damaged file; the codec fills the rest, with
  // grey for JPEG and zeros for PNG. The header must be intact. false (default): throw Error.
  bool accept_damaged = false;
  Dct dct = Dct::accurate;
  Orientation orientation = Orientation::ignored;
};

struct DecodedImage {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;
  std::vector<uint8_t> pixels = {};     // [height, width, channels]; empty if decoded to 16 bits
  std::vector<uint16_t> pixels16 = {};  // the same; empty if decoded to 8 bits
};

// All functions throw recordpipe::Error, without a path:
//   unsupported       another format, or a variant that is not decoded: of JPEG some, of BMP those
//                     with run lengths; WebP without libwebp (RECORDPIPE_WEBP)
//   truncated         the file ends too early
//   corrupted         the file is damaged
//   limit_exceeded    too many pixels, or a JPEG with more than 500 scans
//   invalid_argument  options.channels is not 0, 1, 3 or 4, or options.bits not 8 or 16

// Reads only the header; max_pixels does not apply.
ImageInfo image_info(std::span<const std::byte> file);

DecodedImage decode_image(std::span<const std::byte> file, const DecodeOptions& options = {});

// A JPEG image that is decoded at 1/denominator of its size, by an inverse DCT of fewer values. The
// scaled image's pixel (y, x) is about the mean of the rows [y * denominator - top, (y + 1) *
// denominator - top) and the columns [x * denominator - left, ...) of the image, as far as they are
// inside of it.
struct ScaledImage {
  ImageSize size;  // each side divided by the denominator, rounded up
  size_t top = 0;  // above 0 only if the image was turned or mirrored, below the denominator
  size_t left = 0;
};
// `info`: of a ChoosePart. `denominator`: 1, 2, 4 or 8.
ScaledImage scaled_image(const ImageInfo& info, int denominator);

// What is decoded of an image.
struct ChosenPart {
  ImagePart part;       // of the image; with a denominator, of the scaled image
  int denominator = 1;  // of JPEG images: 1, 2, 4 or 8; of others: 1

  ChosenPart(const ImagePart& of_image) : part(of_image) {}  // NOLINT(google-explicit-constructor)
  ChosenPart(const ImagePart& of_scaled, int scale) : part(of_scaled), denominator(scale) {}
};

// Decodes many images and reuses its memory. Not thread-safe.
class ImageDecoder {
 public:
  explicit ImageDecoder(const DecodeOptions& options = {});
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;
  ~ImageDecoder();

  // The result is valid until the next call. The decoder remains usable after an Error.
  const DecodedImage& decode(std::span<const std::byte> file);

  // Chooses a part of an image from its header. With Orientation::upright, the image is the upright
  // one: `info` has its height and width, and the part is in it. An exception ends decode().
  using ChoosePart = std::function<ChosenPart(const ImageInfo& info)>;
  // Decodes only the part: the result has its size, and the same pixels as in the whole image. Of a
  // JPEG file, what is (as stored) above the part and beside it is entropy-decoded only, and what
  // is below it is not read, so damage there is not noticed. max_pixels applies to the whole image,
  // not scaled. Throws Error{invalid_argument} if the part is not inside of the image, and for a
  // denominator that is not possible.
  const DecodedImage& decode(std::span<const std::byte> file, const ChoosePart& choose);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
