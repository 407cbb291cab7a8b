#include "recordpipe/image/image_column.h"

#include <algorithm>
#include <utility>

#include "dataset/image/batches/image_codecs.h"
#include "dataset/image/batches/size_text.h"
#include "recordpipe/element.h"
#include "recordpipe/error.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe {

// The pixels of an image, ready for its row but for what CropWindow and normalisation do.
struct internal::PixelView {
  std::span<const uint8_t> values = {};
  ImageSize size = {};
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

namespace {

using internal::ImageCodecs;
using internal::PixelView;
using internal::WaitingImage;

// Returns `error` with the feature's name, and the path and offset of its record.
Error in_record(const Error& error, const std::string& feature, const ImageOrigin& origin) {
  Error::Parts parts{.kind = error.kind(),
                     .path = std::string(origin.path),
                     .reason = "image '" + printable(feature) + "': " + error.reason(),
                     .hint = error.hint()};
  if (error.offset()) parts.reason += " (byte " + std::to_string(*error.offset()) + " of the file)";
  parts.reason += " in the record";
  if (!origin.path.empty()) parts.offset = origin.offset;
  return Error(std::move(parts));
}

// Copies [height, width, channels] to [channels, height, width].
void to_planes(std::span<const uint8_t> pixels, size_t channels, uint8_t* out) {
  const size_t plane = pixels.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < plane; ++i) out[c * plane + i] = pixels[i * channels + c];
  }
}

// Returns the part of an image, [height, width, channels], in memory of the thread.
std::span<const uint8_t> copy_part(std::span<const uint8_t> pixels, const ImageSize& size,
                                   size_t channels, Layout layout, const ImagePart& part) {
  thread_local std::vector<uint8_t> memory;
  memory.resize(part.height * part.width * channels);
  const bool planar = layout == Layout::nchw;
  uint8_t* out = memory.data();
  for (size_t y = part.top; y < part.top + part.height; ++y) {
    for (size_t x = part.left; x < part.left + part.width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        *out++ = planar ? pixels[(c * size.height + y) * size.width + x]
                        : pixels[(y * size.width + x) * channels + c];
      }
    }
  }
  return memory;
}

// The memory of a thread for one image's planes.
std::span<const uint8_t> planes(std::span<const uint8_t> pixels, size_t channels) {
  thread_local std::vector<uint8_t> memory;
  memory.resize(pixels.size());
  to_planes(pixels, channels, memory.data());
  return memory;
}

}  // namespace

uint64_t heap_bytes(const ImageColumn& column) {
  uint64_t bytes = heap_bytes(column.batch) + column.waiting.capacity() * sizeof(WaitingImage);
  for (const WaitingImage& image : column.waiting)
    bytes += image.pixels.capacity() + heap_bytes(image.path);
  return bytes;
}

ImageColumnCollator::ImageColumnCollator(const ImageSpec& spec)
    : spec_(spec),
      format_(spec.format()),
      is_sized_(format_.height > 0 && format_.width > 0 && format_.channels > 0) {
  spec_.check();
  const auto* decode = std::get_if<DecodeOptions>(&spec_.source);
  codecs_ = std::make_shared<ImageCodecs>(decode ? *decode : DecodeOptions());
}

void ImageColumnCollator::reset(ImageColumn& column, size_t rows) const {
  if (is_sized_) {
    column.batch.reset(format_, rows);
  } else {
    column.waiting.resize(rows);
  }
}

void ImageColumnCollator::check_channels(size_t channels) const {
  if (spec_.normalized_channels > 0 && spec_.normalized_channels != channels) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "an image of " + std::to_string(channels) + " channels, and " +
                           std::to_string(spec_.normalized_channels) +
                           " means or standard deviations"});
  }
}

void ImageColumnCollator::write(std::span<const uint8_t> pixels, const ImageSize& size,
                                Random random, const ImageFormat& format, std::byte* out,
                                const uint8_t* next) const {
  if (const auto* color = std::get_if<RandomCropFlipColor>(&spec_.distortion)) {
    const ImageSize crop = color->crop;
    if (crop.height > size.height || crop.width > size.width) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "a crop of " + text(crop) + " from an image of " + text(size)});
    }
    crop_flip_color(pixels, size, CropFlipColor::draw(random, size, crop, color->ranges), format,
                    out, color->standardize);
    return;
  }
  CropWindow window = {
      .image = pixels.data(), .image_height = size.height, .image_width = size.width, .next = next};
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&spec_.distortion)) {
    const PadCropFlip crop = PadCropFlip::draw(random, pad->pad);
    window.top = crop.top;
    window.left = crop.left;
    window.flip = crop.flip;
  } else if (const auto* central = std::get_if<CentralCrop>(&spec_.distortion)) {
    const CropFlipColor crop = CropFlipColor::central(size, central->crop);
    window.top = crop.top;
    window.left = crop.left;
  }
  const Normalization none;
  const Normalization& normalization = spec_.normalization ? *spec_.normalization : none;
  write_window(window, format, channel_map(normalization, window, format), out);
}

std::optional<ResizedCrop> ImageColumnCollator::resized_crop(const ImageSize& image,
                                                             Random random) const {
  if (const auto* drawn = std::get_if<RandomResizedCrop>(&spec_.distortion)) {
    return ResizedCrop::draw(random, image, drawn->to, drawn->ranges, drawn->resampling);
  }
  const auto* resize = std::get_if<ResizeAndCrop>(&spec_.distortion);
  if (!resize) return std::nullopt;
  ImageSize to = image;
  if (const auto* size = std::get_if<ImageSize>(&resize->to)) to = *size;
  if (const auto* side = std::get_if<size_t>(&resize->to)) to = size_of_short_side(image, *side);
  return ResizedCrop::central(image, to, resize->crop.value_or(to), resize->resampling);
}

void ImageColumnCollator::place(ImageColumn& column, size_t row, const PixelView& image,
                                const Random& random, const ImageOrigin& origin,
                                const uint8_t* next) const {
  check_channels(image.channels);
  const bool planar = image.layout == Layout::nchw || image.channels == 1;
  if (is_sized_) {
    write(planar ? image.values : planes(image.values, image.channels), image.size, random, format_,
          column.batch.image_at(row), next);
    return;
  }
  WaitingImage& waiting = column.waiting[row];
  waiting.path = origin.path;
  waiting.offset = origin.offset;
  waiting.size = image.size;
  waiting.channels = image.channels;
  waiting.random = random;
  waiting.pixels.resize(image.values.size());
  if (planar) {
    std::ranges::copy(image.values, waiting.pixels.begin());
  } else {
    to_planes(image.values, image.channels, waiting.pixels.data());
  }
}

void ImageColumnCollator::read_raw(ImageColumn& column, size_t row,
                                   std::span<const std::byte> bytes, const Random& random,
                                   const ImageOrigin& origin, const uint8_t* next) const {
  const auto& raw = std::get<RawPixels>(spec_.source);
  const size_t expected = raw.size.height * raw.size.width * raw.channels;
  if (bytes.size() != expected) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = std::to_string(bytes.size()) + " bytes, not the " +
                           std::to_string(expected) + " of raw pixels of " +
                           text(raw.size, raw.channels)});
  }
  const std::span pixels(reinterpret_cast<const uint8_t*>(bytes.data()), expected);
  const std::optional<ResizedCrop> crop = resized_crop(raw.size, random);
  if (!crop) {
    return place(column, row, {pixels, raw.size, raw.channels, raw.layout}, random, origin, next);
  }
  codecs_->with_codec([&](ImageCodecs::Codec& codec) {
    const std::span<const uint8_t> part =
        copy_part(pixels, raw.size, raw.channels, raw.layout, crop->source());
    const ImagePart& window = crop->resized.window;
    place(column, row,
          {codec.resizer.resize(part, raw.channels, crop->resized, Layout::nchw), window.size(),
           raw.channels, Layout::nchw},
          random, origin, nullptr);
  });
}

void ImageColumnCollator::read_file(ImageColumn& column, size_t row,
                                    std::span<const std::byte> bytes, const Random& random,
                                    const ImageOrigin& origin) const {
  codecs_->with_codec([&](ImageCodecs::Codec& codec) {
    std::optional<ResizedCrop> crop;
    const DecodedImage& image = codec.decoder.decode(bytes, [&](const ImageInfo& info) {
      const ImageSize size{info.height, info.width};
      crop = resized_crop(size, random);
      return crop ? crop->source() : ImagePart{0, 0, size.height, size.width};
    });
    PixelView pixels{image.pixels, {image.height, image.width}, image.channels};
    if (crop) {
      pixels.values =
          codec.resizer.resize(image.pixels, image.channels, crop->resized, Layout::nchw);
      pixels.size = crop->resized.window.size();
      pixels.layout = Layout::nchw;
    }
    place(column, row, pixels, random, origin, nullptr);
  });
}

void ImageColumnCollator::set(ImageColumn& column, size_t row, std::span<const std::byte> bytes,
                              const Random& random, const ImageOrigin& origin,
                              const uint8_t* next) const {
  try {
    if (std::holds_alternative<RawPixels>(spec_.source)) {
      read_raw(column, row, bytes, random, origin, next);
    } else {
      read_file(column, row, bytes, random, origin);
    }
  } catch (const Error& error) {
    throw in_record(error, spec_.feature, origin);
  }
}

void ImageColumnCollator::finish(ImageColumn& column) const {
  if (is_sized_) return;
  const size_t rows = column.waiting.size();
  ImageFormat format = format_;
  for (size_t row = 0; row < rows; ++row) {
    const WaitingImage& image = column.waiting[row];
    // The size of the rows: of the crop, or of the first image.
    const WaitingImage& first = column.waiting.front();
    const bool is_cropped = format_.height > 0;
    if ((!is_cropped &&
         (image.size.height != first.size.height || image.size.width != first.size.width)) ||
        image.channels != first.channels) {
      throw in_record(Error({.kind = ErrorKind::unsupported,
                             .reason = text(image.size, image.channels) +
                                       " pixels, and the first image of the batch has " +
                                       text(first.size, first.channels),
                             .hint = "images of a batch need one size: resize or crop them "
                                     "(for example by resize() to a height and a width), give "
                                     "decode_image() channels, or use batches of 1"}),
                      spec_.feature, {image.path, image.offset});
    }
    if (row == 0) {
      if (!is_cropped) {
        format.height = image.size.height;
        format.width = image.size.width;
      }
      format.channels = image.channels;
      column.batch.reset(format, rows);
    }
    try {
      if (spec_.normalization) recordpipe::check(*spec_.normalization, format);
      write(image.pixels, image.size, image.random, format, column.batch.image_at(row), nullptr);
    } catch (const Error& error) {
      throw in_record(error, spec_.feature, {image.path, image.offset});
    }
  }
  column.waiting.clear();  // frees the pixels: the batch may be lent for long
}

}  // namespace recordpipe
