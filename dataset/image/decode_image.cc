// Detects the format from the first bytes, and calls the decoder.
#include "recordpipe/image/decode_image.h"

#include <algorithm>
#include <string>

#include "dataset/image/image_decoders.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

constexpr uint8_t kJpegStart[] = {0xFF, 0xD8, 0xFF};
constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

bool starts_with(std::span<const std::byte> file, std::span<const uint8_t> start) {
  return file.size() >= start.size() &&
         std::equal(start.begin(), start.end(), file.begin(),
                    [](uint8_t a, std::byte b) { return a == std::to_integer<uint8_t>(b); });
}

ImageFileFormat format_of(std::span<const std::byte> file) {
  if (starts_with(file, kJpegStart)) return ImageFileFormat::jpeg;
  if (starts_with(file, kPngStart)) return ImageFileFormat::png;
  throw Error({.kind = ErrorKind::unsupported,
               .offset = 0,
               .reason = "neither a JPEG nor a PNG file",
               .hint = "convert the image to one of them"});
}

}  // namespace

void check_pixels(const ImageInfo& info, const DecodeOptions& options) {
  const uint64_t pixels = uint64_t{info.height} * info.width;  // each below 2^31
  if (pixels <= options.max_pixels) return;
  throw Error({.kind = ErrorKind::limit_exceeded,
               .offset = 0,
               .reason = "an image of " + std::to_string(info.height) + "x" +
                         std::to_string(info.width) + " pixels exceeds the limit of " +
                         std::to_string(options.max_pixels),
               .hint = "raise max_pixels if the file is trusted"});
}

ImagePart chosen_part(const ImageDecoder::ChoosePart& choose, const ImageInfo& info) {
  if (!choose) return {0, 0, info.height, info.width};
  const ImagePart part = choose(info);
  if (part.is_inside({info.height, info.width})) return part;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "a part of " + std::to_string(part.height) + "x" +
                         std::to_string(part.width) + " pixels at " + std::to_string(part.top) +
                         ", " + std::to_string(part.left) + " is not inside of an image of " +
                         std::to_string(info.height) + "x" + std::to_string(info.width)});
}

std::string_view to_string(Dct dct) { return dct == Dct::fast ? "fast" : "accurate"; }

Error too_few_bytes(const char* format, size_t file_size, const ImageInfo& info) {
  return Error({.kind = ErrorKind::truncated,
                .offset = file_size,
                .reason = std::string(format) + ": too few bytes for " +
                          std::to_string(info.height) + "x" + std::to_string(info.width) +
                          " pixels"});
}

ImageInfo image_info(std::span<const std::byte> file) {
  return format_of(file) == ImageFileFormat::jpeg ? JpegDecoder().info(file)
                                                  : PngDecoder().info(file);
}

struct ImageDecoder::State {
  DecodeOptions options;
  JpegDecoder jpeg = {};
  PngDecoder png = {};
  DecodedImage image = {};
};

ImageDecoder::ImageDecoder(const DecodeOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "channels is " + std::to_string(options.channels) + ", must be 0, 1, 3 or 4"});
  }
  state_.reset(new State{.options = options});
}

ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;
ImageDecoder::~ImageDecoder() = default;

const DecodedImage& ImageDecoder::decode(std::span<const std::byte> file) {
  return decode(file, {});
}

const DecodedImage& ImageDecoder::decode(std::span<const std::byte> file,
                                         const ChoosePart& choose) {
  if (format_of(file) == ImageFileFormat::jpeg) {
    state_->jpeg.decode(file, state_->options, choose, state_->image);
  } else {
    state_->png.decode(file, state_->options, choose, state_->image);
  }
  return state_->image;
}

DecodedImage decode_image(std::span<const std::byte> file, const DecodeOptions& options) {
  return ImageDecoder(options).decode(file);
}

}  // namespace recordpipe
