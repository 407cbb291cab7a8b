// Detects the format from the first bytes, and calls the decoder.
#include "recordpipe/image/decode_image.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataset/image/exif.h"
#include "dataset/image/file_start.h"
#include "dataset/image/image_decoders.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr uint8_t kJpegStart[] = {0xFF, 0xD8, 0xFF};
constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

constexpr uint8_t kGifStart[] = {'G', 'I', 'F', '8'};
constexpr uint8_t kBmpStart[] = {'B', 'M'};
constexpr uint8_t kRiffStart[] = {'R', 'I', 'F', 'F'};
constexpr uint8_t kWebpName[] = {'W', 'E', 'B', 'P'};
constexpr size_t kMinBmp = 26;  // a header without pixels

ImageFileFormat format_of(std::span<const std::byte> file) {
  if (starts_with(file, kJpegStart)) return ImageFileFormat::jpeg;
  if (starts_with(file, kPngStart)) return ImageFileFormat::png;
  if (starts_with(file, kGifStart)) return ImageFileFormat::gif;
  if (starts_with(file, kBmpStart) && file.size() >= kMinBmp) return ImageFileFormat::bmp;
  if (starts_with(file, kRiffStart) && file.size() >= 12 &&
      starts_with(file.subspan(8), kWebpName)) {
    return ImageFileFormat::webp;
  }
  throw Error({.kind = ErrorKind::unsupported,
               .offset = 0,
               .reason = "neither a JPEG, PNG, GIF, BMP nor WebP file",
               .hint = "convert the image to one of them"});
}

// Null for JPEG and PNG.
const RgbaDecoder* rgba_decoder(ImageFileFormat format) {
  static const GifDecoder gif;
  static const BmpDecoder bmp;
  static const WebpDecoder webp;
  switch (format) {
    case ImageFileFormat::gif:
      return &gif;
    case ImageFileFormat::bmp:
      return &bmp;
    case ImageFileFormat::webp:
      return &webp;
    case ImageFileFormat::jpeg:
    case ImageFileFormat::png:
      break;
  }
  return nullptr;
}

// Copies a part of [height, width, 4] to as many channels as `image` has.
void cut_out(const std::vector<uint8_t>& rgba, size_t width, const ImagePart& part,
             DecodedImage& image) {
  image.pixels.resize(part.height * part.width * image.channels);
  uint8_t* to = image.pixels.data();
  for (size_t y = 0; y < part.height; ++y) {
    const uint8_t* from = rgba.data() + ((part.top + y) * width + part.left) * 4;
    for (size_t x = 0; x < part.width; ++x, from += 4, to += image.channels) {
      if (image.channels == 1) {
        to[0] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
      } else {
        std::copy_n(from, image.channels, to);
      }
    }
  }
}

}  // namespace

std::string_view to_string(ImageFileFormat format) {
  switch (format) {
    case ImageFileFormat::jpeg:
      return "JPEG";
    case ImageFileFormat::png:
      return "PNG";
    case ImageFileFormat::gif:
      return "GIF";
    case ImageFileFormat::bmp:
      return "BMP";
    case ImageFileFormat::webp:
      return "WebP";
  }
  return "";
}

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

ScaledImage scaled_image(const ImageInfo& info, int denominator) {
  const auto by = static_cast<size_t>(denominator);
  ScaledImage scaled{{(info.height + by - 1) / by, (info.width + by - 1) / by}, 0, 0};
  // The incomplete pixels are the last ones of the stored image.
  const Turn turn(info.orientation);
  if (turn.starts_at_bottom()) scaled.top = scaled.size.height * by - info.height;
  if (turn.starts_at_right()) scaled.left = scaled.size.width * by - info.width;
  return scaled;
}

ChosenPart chosen_part(const ImageDecoder::ChoosePart& choose, const ImageInfo& info) {
  if (!choose) return ImagePart{0, 0, info.height, info.width};
  const ChosenPart chosen = choose(info);
  const int by = chosen.denominator;
  if (by != 1 && (info.format != ImageFileFormat::jpeg || (by != 2 && by != 4 && by != 8))) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "an image is not decoded at 1/" + std::to_string(by) + " of its size"});
  }
  const ImagePart& part = chosen.part;
  const ImageSize size = scaled_image(info, by).size;
  if (part.is_inside(size)) return chosen;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "a part of " + std::to_string(part.height) + "x" +
                         std::to_string(part.width) + " pixels at " + std::to_string(part.top) +
                         ", " + std::to_string(part.left) + " is not inside of an image of " +
                         std::to_string(size.height) + "x" + std::to_string(size.width)});
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
  const ImageFileFormat format = format_of(file);
  const RgbaDecoder* const rgba = rgba_decoder(format);
  ImageInfo info = rgba != nullptr                   ? rgba->info(file)
                   : format == ImageFileFormat::jpeg ? JpegDecoder().info(file)
                                                     : PngDecoder().info(file);
  info.orientation = exif_orientation(file, format);
  return info;
}

// Of the RGBA pixels that a decoder keeps for the next image.
constexpr size_t kMaxKeptBytes = size_t{16} << 20;

struct ImageDecoder::State {
  DecodeOptions options;
  JpegDecoder jpeg = {};
  PngDecoder png = {};
  DecodedImage image = {};
  DecodedImage turned = {};
  std::vector<uint8_t> rgba = {};

  void decode(std::span<const std::byte> file, ImageFileFormat format, const ChoosePart& choose) {
    if (format == ImageFileFormat::png) return png.decode(file, options, choose, image);
    if (const RgbaDecoder* const decoder = rgba_decoder(format)) {
      decode_whole(file, *decoder, choose);
    } else {
      jpeg.decode(file, options, choose, image);
    }
    if (options.bits == 8) return image.pixels16.clear();
    image.pixels16.resize(image.pixels.size());
    std::ranges::transform(image.pixels, image.pixels16.begin(),
                           [](uint8_t value) { return static_cast<uint16_t>(value * 257); });
    image.pixels.clear();
  }

  void decode_whole(std::span<const std::byte> file, const RgbaDecoder& decoder,
                    const ChoosePart& choose) {
    const ImageInfo info = decoder.info(file);
    check_pixels(info, options);
    const ImagePart part = chosen_part(choose, info).part;
    decoder.decode(file, options.accept_damaged, rgba);
    image.height = part.height;
    image.width = part.width;
    image.channels = options.channels == 0 ? info.channels : static_cast<size_t>(options.channels);
    cut_out(rgba, info.width, part, image);
    if (rgba.size() > kMaxKeptBytes) rgba = {};
  }
};

ImageDecoder::ImageDecoder(const DecodeOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "channels is " + std::to_string(options.channels) + ", must be 0, 1, 3 or 4"});
  }
  if (options.bits != 8 && options.bits != 16) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "bits is " + std::to_string(options.bits) + ", must be 8 or 16"});
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
  const ImageFileFormat format = format_of(file);
  const int orientation =
      state_->options.orientation == Orientation::upright ? exif_orientation(file, format) : 1;
  if (orientation == 1) {
    state_->decode(file, format, choose);
    return state_->image;
  }
  const Turn turn(orientation);
  state_->decode(file, format, [&](const ImageInfo& stored) {
    ImageInfo info = stored;
    info.orientation = orientation;
    if (turn.transposes) std::swap(info.height, info.width);
    const ChosenPart chosen = chosen_part(choose, info);
    const ImageSize size = scaled_image(stored, chosen.denominator).size;
    return ChosenPart(turn.stored(chosen.part, size), chosen.denominator);
  });
  turn.apply(state_->image, state_->turned);
  return state_->turned;
}

DecodedImage decode_image(std::span<const std::byte> file, const DecodeOptions& options) {
  return ImageDecoder(options).decode(file);
}

}  // namespace recordpipe
