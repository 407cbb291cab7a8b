#include "recordpipe/image/image_column.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "dataset/image/batches/image_codecs.h"
#include "dataset/image/batches/size_text.h"
#include "recordpipe/element.h"
#include "recordpipe/error.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe {

// Decoded, or raw, or resized values of an image.
struct internal::PixelView {
  ImageSize size = {};
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

namespace {

using internal::ImageCodecs;
using internal::PixelView;

// A padded batch of fewer values is never refused.
constexpr double kMostPaddedValues = 1 << 28;

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

// Returns [height, width, channels] as [channels, height, width], in memory of the thread.
template <class Value>
std::span<const Value> to_planes(std::span<const Value> pixels, size_t channels) {
  thread_local std::vector<Value> memory;
  memory.resize(pixels.size());
  const size_t plane = pixels.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < plane; ++i) memory[c * plane + i] = pixels[i * channels + c];
  }
  return memory;
}

// Returns the window in colours that were changed, in memory of the thread.
CropWindow with_color_jitter(const CropWindow& window, const ImageFormat& rows, Random& random,
                             const ColorJitterRanges& ranges) {
  thread_local std::vector<uint8_t> memory;
  memory.resize(rows.values_per_image());
  ImageFormat format = rows;
  format.dtype = DType::uint8;
  format.layout = Layout::nchw;
  write_window(window, format, {}, reinterpret_cast<std::byte*>(memory.data()));
  color_jitter(memory, rows.channels, ColorJitter::draw(random, ranges));
  return {.image = memory.data(), .image_height = rows.height, .image_width = rows.width};
}

std::span<const uint8_t> raw_pixels(const RawPixels& raw, std::span<const std::byte> bytes) {
  const size_t expected = raw.size.height * raw.size.width * raw.channels;
  if (bytes.size() != expected) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = std::to_string(bytes.size()) + " bytes, not the " +
                           std::to_string(expected) + " of raw pixels of " +
                           text(raw.size, raw.channels)});
  }
  return {reinterpret_cast<const uint8_t*>(bytes.data()), expected};
}

}  // namespace

uint64_t heap_bytes(const ImageColumn& column) {
  uint64_t bytes = heap_bytes(column.batch) + column.sizes.capacity() * sizeof(ImageSize) +
                   column.images.capacity() * sizeof(SizedImage);
  for (const SizedImage& image : column.images) {
    bytes += image.values.capacity() + heap_bytes(image.path);
  }
  return bytes;
}

ImageColumnCollator::ImageColumnCollator(const ImageSpec& spec)
    : spec_(spec),
      format_(spec.format()),
      is_sized_(spec.sizes == ImageSizes::equal && format_.height > 0 && format_.width > 0 &&
                format_.channels > 0) {
  spec_.check();
  const auto* decode = std::get_if<DecodeOptions>(&spec_.source);
  codecs_ = std::make_shared<ImageCodecs>(decode ? *decode : DecodeOptions());
}

void ImageColumnCollator::reset(ImageColumn& column, size_t rows) const {
  if (is_sized_) {
    column.batch.reset(format_, rows);
  } else {
    column.images.resize(rows);
  }
}

ImageSize ImageColumnCollator::size_of_row(const ImageSize& image) const {
  return format_.height > 0 ? ImageSize{format_.height, format_.width} : image;
}

std::byte* ImageColumnCollator::slot(ImageColumn& column, size_t row, const ImageFormat& format,
                                     const ImageOrigin& origin) const {
  if (is_sized_) return column.batch.image_at(row);
  if (spec_.normalization) recordpipe::check(*spec_.normalization, format);
  SizedImage& image = column.images[row];
  image.format = format;
  image.values.resize(format.bytes_per_image());
  image.path = origin.path;
  image.offset = origin.offset;
  return image.values.data();
}

void ImageColumnCollator::check_recolored(const ImageSize& size) const {
  const auto* color = std::get_if<RandomCropFlipColor>(&spec_.distortion);
  if (!color || (color->crop.height <= size.height && color->crop.width <= size.width)) return;
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "a crop of " + text(color->crop) + " from an image of " + text(size)});
}

void ImageColumnCollator::write_recolored(std::span<const uint8_t> planes, const ImageSize& size,
                                          Random& random, const ImageFormat& format,
                                          std::byte* out) const {
  const auto& color = std::get<RandomCropFlipColor>(spec_.distortion);
  check_recolored(size);
  crop_flip_color(planes, size, CropFlipColor::draw(random, size, color.crop, color.ranges), format,
                  out, color.standardize);
}

template <class Value>
void ImageColumnCollator::write(std::span<const Value> planes, const ImageSize& size,
                                Random& random, const ImageFormat& format, std::byte* out,
                                const uint8_t* next) const {
  CropWindowOf<Value> window = {
      .image = planes.data(), .image_height = size.height, .image_width = size.width};
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
  if constexpr (std::is_same_v<Value, uint8_t>) {
    if (std::holds_alternative<RandomCropFlipColor>(spec_.distortion)) {
      return write_recolored(planes, size, random, format, out);
    }
    window.next = next;
    if (spec_.color_jitter) {
      window = with_color_jitter(window, format, random, *spec_.color_jitter);
    }
  }
  const Normalization none;
  const Normalization& normalization = spec_.normalization ? *spec_.normalization : none;
  write_window(window, format, channel_map(normalization, window, format), out);
}

void ImageColumnCollator::check_channels(size_t channels) const {
  if (spec_.normalized_channels > 0 && spec_.normalized_channels != channels) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "an image of " + std::to_string(channels) + " channels, and " +
                           std::to_string(spec_.normalized_channels) +
                           " means or standard deviations"});
  }
  if (spec_.color_jitter && channels != 1 && channels != 3) {
    throw Error(
        {.kind = ErrorKind::unsupported,
         .reason = "color_jitter of an image of " + std::to_string(channels) + " channels"});
  }
}

template <class Value>
void ImageColumnCollator::place(ImageColumn& column, size_t row, const PixelView& image,
                                std::span<const Value> values, Random& random,
                                const ImageOrigin& origin, const uint8_t* next) const {
  const size_t channels = image.channels;
  check_channels(channels);
  ImageFormat format = format_;
  const ImageSize size = size_of_row(image.size);
  format.height = size.height;
  format.width = size.width;
  format.channels = channels;
  const bool is_planar = image.layout == Layout::nchw || channels == 1;
  write(is_planar ? values : to_planes(values, channels), image.size, random, format,
        slot(column, row, format, origin), next);
}

std::optional<ResizedCrop> ImageColumnCollator::resized_crop(const ImageSize& image,
                                                             Random& random) const {
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

void ImageColumnCollator::read_raw(ImageColumn& column, size_t row,
                                   std::span<const std::byte> bytes, Random random,
                                   const ImageOrigin& origin, const uint8_t* next) const {
  const auto& raw = std::get<RawPixels>(spec_.source);
  const std::span<const uint8_t> pixels = raw_pixels(raw, bytes);
  const std::optional<ResizedCrop> crop = resized_crop(raw.size, random);
  if (!crop) {
    const PixelView view{raw.size, raw.channels, raw.layout};
    return place(column, row, view, pixels, random, origin, next);
  }
  codecs_->with_codec([&](ImageCodecs::Codec& codec) {
    const std::span<const uint8_t> part =
        copy_part(pixels, raw.size, raw.channels, raw.layout, crop->source());
    place_resized(column, row, codec.resizer, part, raw.channels, crop->resized, random, origin);
  });
}

template <class Value>
void ImageColumnCollator::place_resized(ImageColumn& column, size_t row, Resizer& resizer,
                                        std::span<const Value> part, size_t channels,
                                        const Resized& resized, Random& random,
                                        const ImageOrigin& origin) const {
  const PixelView view{resized.window.size(), channels, Layout::nchw};
  if constexpr (std::is_same_v<Value, uint8_t>) {
    if (resized.resampling.rounded) {
      return place(column, row, view, resizer.resize(part, channels, resized, Layout::nchw), random,
                   origin, nullptr);
    }
  }
  place(column, row, view, resizer.resize_to_floats(part, channels, resized, Layout::nchw), random,
        origin, nullptr);
}

void ImageColumnCollator::read_file(ImageColumn& column, size_t row,
                                    std::span<const std::byte> bytes, Random random,
                                    const ImageOrigin& origin) const {
  codecs_->with_codec([&](ImageCodecs::Codec& codec) {
    std::optional<ResizedCrop> crop;
    const auto choose = [&](const ImageInfo& info) -> ChosenPart {
      const ImageSize size{info.height, info.width};
      crop = resized_crop(size, random);
      if (!crop) return ImagePart{0, 0, size.height, size.width};
      const int by =
          spec_.dct_scaling && info.format == ImageFileFormat::jpeg ? crop->shrinks_by() : 1;
      if (by > 1) {
        const ScaledImage scaled = scaled_image(info, by);
        crop = crop->of_scaled(scaled.size, by, scaled.top, scaled.left);
      }
      return {crop->source(), by};
    };
    const DecodedImage& image = codec.decoder.decode(bytes, choose);
    const PixelView view{{image.height, image.width}, image.channels, Layout::nhwc};
    const auto place_values = [&]<class Value>(const std::vector<Value>& values) {
      const std::span<const Value> all(values);
      if (crop) {
        place_resized(column, row, codec.resizer, all, image.channels, crop->resized, random,
                      origin);
      } else {
        place(column, row, view, all, random, origin, nullptr);
      }
    };
    spec_.is_wide() ? place_values(image.pixels16) : place_values(image.pixels);
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

void ImageColumnCollator::check_row(const ImageSize& size, size_t channels) const {
  check_channels(channels);
  check_recolored(size);
  Random random(0, 0, 0);
  if (std::holds_alternative<ResizeAndCrop>(spec_.distortion)) resized_crop(size, random)->source();
}

void ImageColumnCollator::check(std::span<const std::byte> bytes, const ImageOrigin& origin) const {
  try {
    if (const auto* raw = std::get_if<RawPixels>(&spec_.source)) {
      raw_pixels(*raw, bytes);
      return check_row(raw->size, raw->channels);
    }
    codecs_->with_codec([&](ImageCodecs::Codec& codec) {
      ImageSize size;
      const DecodedImage& image = codec.decoder.decode(bytes, [&](const ImageInfo& info) {
        size = {info.height, info.width};
        // Entropy decoding, which finds the damage, is all that this leaves of the work.
        const int by = info.format == ImageFileFormat::jpeg ? 8 : 1;
        const ImageSize scaled = scaled_image(info, by).size;
        return ChosenPart({0, 0, scaled.height, scaled.width}, by);
      });
      check_row(size, image.channels);
    });
  } catch (const Error& error) {
    throw in_record(error, spec_.feature, origin);
  }
}

void ImageColumnCollator::join(ImageColumn& column) const {
  const size_t rows = column.images.size();
  if (rows == 0) return column.batch.reset(format_, 0);
  const ImageFormat& first = column.images.front().format;
  for (const SizedImage& image : column.images) {
    if (image.format == first) continue;
    const auto size = [](const ImageFormat& format) {
      return text({format.height, format.width}, format.channels);
    };
    throw in_record(Error({.kind = ErrorKind::unsupported,
                           .reason = size(image.format) +
                                     " pixels, and the first image of the batch has " + size(first),
                           .hint = "images of a batch need one size: resize or crop them "
                                   "(for example by resize() to a height and a width), give "
                                   "decode_image() channels, or choose the sizes \"padded\" or "
                                   "\"list\""}),
                    spec_.feature, {image.path, image.offset});
  }
  column.batch.reset(first, rows);
  for (size_t row = 0; row < rows; ++row) {
    std::ranges::copy(column.images[row].values, column.batch.image_at(row));
  }
}

void ImageColumnCollator::pad(ImageColumn& column) const {
  const size_t rows = column.images.size();
  column.sizes.clear();
  if (rows == 0) return column.batch.reset(format_, 0);
  ImageFormat format = column.images.front().format;
  double values = 0;
  for (const SizedImage& image : column.images) {
    if (image.format.channels != format.channels) {
      throw in_record(Error({.kind = ErrorKind::unsupported,
                             .reason = std::to_string(image.format.channels) +
                                       " channels, and the first image of the batch has " +
                                       std::to_string(format.channels),
                             .hint = "give decode_image() channels"}),
                      spec_.feature, {image.path, image.offset});
    }
    format.height = std::max(format.height, image.format.height);
    format.width = std::max(format.width, image.format.width);
    values += static_cast<double>(image.format.values_per_image());
  }
  // An image of many rows and an image of many columns would take any memory.
  const double padded = static_cast<double>(format.height) * static_cast<double>(format.width) *
                        static_cast<double>(format.channels * rows);
  if (padded > kMostPaddedValues && padded > kMaxPadding * values) {
    const SizedImage& widest = *std::ranges::max_element(
        column.images, {}, [](const SizedImage& image) { return image.format.width; });
    throw in_record(Error({.kind = ErrorKind::limit_exceeded,
                           .reason = text({widest.format.height, widest.format.width}) +
                                     " pixels in a batch that is padded to " +
                                     text({format.height, format.width}),
                           .hint = "resize the images, or batch fewer of them"}),
                    spec_.feature, {widest.path, widest.offset});
  }
  column.batch.reset(format, rows);
  const bool planar = format.layout == Layout::nchw;
  const size_t planes = planar ? format.channels : 1;
  const size_t pixel = size_of(format.dtype) * (planar ? 1 : format.channels);
  for (size_t row = 0; row < rows; ++row) {
    const SizedImage& image = column.images[row];
    const size_t height = image.format.height;
    const size_t width = image.format.width * pixel;
    const std::byte* from = image.values.data();
    std::byte* to = column.batch.image_at(row);
    std::fill_n(to, format.bytes_per_image(), std::byte{0});
    for (size_t plane = 0; plane < planes; ++plane, to += format.height * format.width * pixel) {
      for (size_t y = 0; y < height; ++y, from += width) {
        std::copy_n(from, width, to + y * format.width * pixel);
      }
    }
    column.sizes.push_back({height, image.format.width});
  }
}

void ImageColumnCollator::finish(ImageColumn& column) const {
  if (is_sized_ || spec_.sizes == ImageSizes::list) return;
  spec_.sizes == ImageSizes::padded ? pad(column) : join(column);
  column.images.clear();  // frees the values: the batch may be lent for long
}

}  // namespace recordpipe
