#include "dataset/image/batches/image_pass.h"

#include <string>
#include <type_traits>
#include <vector>

#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe::internal {

// Decoded, or raw, or resized values of an image.
struct ImagePass::PixelView {
  ImageSize size = {};
  size_t channels = 0;
  Layout layout = Layout::nhwc;
};

struct ImagePass::Row {
  Random random;
  const uint8_t* next;
  const RowMemory& memory;
};

namespace {

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
                           size_text(raw.size, raw.channels)});
  }
  return {reinterpret_cast<const uint8_t*>(bytes.data()), expected};
}

}  // namespace

ImagePass::ImagePass(const ImageSpec& spec)
    : spec_(spec),
      format_(spec.format()),
      codecs_(std::holds_alternative<DecodeOptions>(spec.source)
                  ? std::get<DecodeOptions>(spec.source)
                  : DecodeOptions()) {
  spec_.check();
}

void ImagePass::check_recolored(const ImageSize& size) const {
  const auto* color = std::get_if<RandomCropFlipColor>(&spec_.distortion);
  if (!color || (color->crop.height <= size.height && color->crop.width <= size.width)) return;
  throw Error(
      {.kind = ErrorKind::unsupported,
       .reason = "a crop of " + size_text(color->crop) + " from an image of " + size_text(size)});
}

void ImagePass::write_recolored(std::span<const uint8_t> planes, const ImageSize& size,
                                const ImageFormat& format, Row& row) const {
  const auto& color = std::get<RandomCropFlipColor>(spec_.distortion);
  check_recolored(size);
  crop_flip_color(planes, size, CropFlipColor::draw(row.random, size, color.crop, color.ranges),
                  format, row.memory(format), color.standardize);
}

template <class Value>
void ImagePass::write(std::span<const Value> planes, const ImageSize& size,
                      const ImageFormat& format, Row& row) const {
  CropWindowOf<Value> window = {
      .image = planes.data(), .image_height = size.height, .image_width = size.width};
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&spec_.distortion)) {
    const PadCropFlip crop = PadCropFlip::draw(row.random, pad->pad);
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
      return write_recolored(planes, size, format, row);
    }
    window.next = row.next;
    if (spec_.color_jitter) {
      window = with_color_jitter(window, format, row.random, *spec_.color_jitter);
    }
  }
  const Normalization none;
  const Normalization& normalization = spec_.normalization ? *spec_.normalization : none;
  std::byte* const out = row.memory(format);
  write_window(window, format, channel_map(normalization, window, format), out);
}

void ImagePass::check_channels(size_t channels) const {
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
void ImagePass::place(const PixelView& image, std::span<const Value> values, Row& row) const {
  const size_t channels = image.channels;
  check_channels(channels);
  ImageFormat format = format_;
  if (format.height == 0) {
    format.height = image.size.height;
    format.width = image.size.width;
  }
  format.channels = channels;
  if (spec_.normalization && format_.channels == 0) {
    recordpipe::check(*spec_.normalization, format);
  }
  const bool is_planar = image.layout == Layout::nchw || channels == 1;
  write(is_planar ? values : to_planes(values, channels), image.size, format, row);
}

std::optional<ResizedCrop> ImagePass::resized_crop(const ImageSize& image, Random& random) const {
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

void ImagePass::read_raw(std::span<const std::byte> bytes, Row& row) const {
  const auto& raw = std::get<RawPixels>(spec_.source);
  const std::span<const uint8_t> pixels = raw_pixels(raw, bytes);
  const std::optional<ResizedCrop> crop = resized_crop(raw.size, row.random);
  if (!crop) {
    const PixelView view{raw.size, raw.channels, raw.layout};
    return place(view, pixels, row);
  }
  codecs_.with_codec([&](ImageCodecs::Codec& codec) {
    const std::span<const uint8_t> part =
        copy_part(pixels, raw.size, raw.channels, raw.layout, crop->source());
    row.next = nullptr;
    place_resized(codec.resizer, part, raw.channels, crop->resized, row);
  });
}

template <class Value>
void ImagePass::place_resized(Resizer& resizer, std::span<const Value> part, size_t channels,
                              const Resized& resized, Row& row) const {
  const PixelView view{resized.window.size(), channels, Layout::nchw};
  if constexpr (std::is_same_v<Value, uint8_t>) {
    if (resized.resampling.rounded) {
      return place(view, resizer.resize(part, channels, resized, Layout::nchw), row);
    }
  }
  place(view, resizer.resize_to_floats(part, channels, resized, Layout::nchw), row);
}

void ImagePass::read_file(std::span<const std::byte> bytes, Row& row) const {
  codecs_.with_codec([&](ImageCodecs::Codec& codec) {
    std::optional<ResizedCrop> crop;
    const auto choose = [&](const ImageInfo& info) -> ChosenPart {
      const ImageSize size{info.height, info.width};
      crop = resized_crop(size, row.random);
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
        place_resized(codec.resizer, all, image.channels, crop->resized, row);
      } else {
        place(view, all, row);
      }
    };
    spec_.is_wide() ? place_values(image.pixels16) : place_values(image.pixels);
  });
}

void ImagePass::check_row(const ImageSize& size, size_t channels) const {
  check_channels(channels);
  check_recolored(size);
  if (const auto* drawn = std::get_if<RandomResizedCrop>(&spec_.distortion)) {
    Resized::whole(size, drawn->to, drawn->resampling).source();  // of crops, the most work
  } else {
    Random random(0, 0, 0);
    const std::optional<ResizedCrop> crop = resized_crop(size, random);
    if (crop) crop->source();
  }
}

void ImagePass::compute(std::span<const std::byte> bytes, const Random& random, const uint8_t* next,
                        const RowMemory& memory) const {
  Row row{.random = random, .next = next, .memory = memory};
  std::holds_alternative<RawPixels>(spec_.source) ? read_raw(bytes, row) : read_file(bytes, row);
}

void ImagePass::check(std::span<const std::byte> bytes) const {
  if (const auto* raw = std::get_if<RawPixels>(&spec_.source)) {
    raw_pixels(*raw, bytes);
    return check_row(raw->size, raw->channels);
  }
  codecs_.with_codec([&](ImageCodecs::Codec& codec) {
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
}

}  // namespace recordpipe::internal
