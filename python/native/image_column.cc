#include "python/native/image_column.h"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/image/crop_window.h"
#include "recordpipe/image/pad_crop_flip.h"

namespace recordpipe::python {
namespace {

[[noreturn]] void refuse(std::string reason, std::string hint = {}) {
  throw Error(
      {.kind = ErrorKind::invalid_argument, .reason = std::move(reason), .hint = std::move(hint)});
}

std::string text(const ImageSize& size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

std::string text(const ImageSize& size, size_t channels) {
  return text(size) + "x" + std::to_string(channels);
}

// Returns `error` with the feature's name, and the record's path and offset.
Error in_record(const Error& error, const std::string& feature, const Record& record) {
  Error::Parts parts{.kind = error.kind(),
                     .path = std::string(record.path),
                     .reason = "image '" + printable(feature) + "': " + error.reason(),
                     .hint = error.hint()};
  if (error.offset()) parts.reason += " (byte " + std::to_string(*error.offset()) + " of the file)";
  parts.reason += " in the record";
  if (!record.path.empty()) parts.offset = record.offset;
  return Error(std::move(parts));
}

// Copies [height, width, channels] to [channels, height, width].
void to_planes(std::span<const uint8_t> pixels, size_t channels, uint8_t* out) {
  const size_t plane = pixels.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < plane; ++i) out[c * plane + i] = pixels[i * channels + c];
  }
}

// The memory of a thread for one image's planes.
std::span<const uint8_t> planes(std::span<const uint8_t> pixels, size_t channels) {
  thread_local std::vector<uint8_t> memory;
  memory.resize(pixels.size());
  to_planes(pixels, channels, memory.data());
  return memory;
}

std::string describe(const Distortion& distortion) {
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&distortion)) {
    return ", pad_crop_flip pad=" + std::to_string(pad->pad) + " seed=" + std::to_string(pad->seed);
  }
  if (const auto* color = std::get_if<RandomCropFlipColor>(&distortion)) {
    return ", crop_flip_color " + text(color->crop) + " seed=" + std::to_string(color->seed) +
           " max_brightness=" + shortest_text(color->ranges.max_brightness) +
           " contrast=" + shortest_text(color->ranges.min_contrast) + ".." +
           shortest_text(color->ranges.max_contrast) +
           (color->standardize == Standardize::yes ? " standardize" : "");
  }
  if (const auto* central = std::get_if<CentralCrop>(&distortion)) {
    return ", central_crop " + text(central->crop);
  }
  return {};
}

}  // namespace

std::optional<uint64_t> ImageSpec::seed() const {
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&distortion)) return pad->seed;
  if (const auto* color = std::get_if<RandomCropFlipColor>(&distortion)) return color->seed;
  return std::nullopt;
}

ImageFormat ImageSpec::format() const {
  const bool changed = normalization || std::holds_alternative<RandomCropFlipColor>(distortion);
  ImageFormat format{.height = 0,
                     .width = 0,
                     .channels = 0,
                     .dtype = dtype.value_or(changed ? DType::float32 : DType::uint8),
                     .layout = layout};
  ImageSize size{0, 0};
  if (const auto* raw = std::get_if<RawPixels>(&source)) {
    size = raw->size;
    format.channels = raw->channels;
  } else {
    format.channels = static_cast<size_t>(std::get<DecodeOptions>(source).channels);
  }
  if (const auto* color = std::get_if<RandomCropFlipColor>(&distortion)) size = color->crop;
  if (const auto* central = std::get_if<CentralCrop>(&distortion)) size = central->crop;
  format.height = size.height;
  format.width = size.width;
  return format;
}

void ImageSpec::check() const {
  const ImageFormat rows = format();
  if (normalization) recordpipe::check(*normalization, rows);
  if (normalized_channels > 0 && rows.channels > 0 && normalized_channels != rows.channels) {
    refuse(std::to_string(normalized_channels) + " means or standard deviations for images of " +
           std::to_string(rows.channels) + " channels");
  }
  const auto* color = std::get_if<RandomCropFlipColor>(&distortion);
  if (!color) return;
  if (normalization) {
    refuse("crop_flip_color can't be combined with a normalisation", "it has standardize");
  }
  if (rows.dtype == DType::uint8) refuse("crop_flip_color needs a floating-point dtype, not uint8");
  Random random(0, 0, 0);
  CropFlipColor::draw(random, color->crop, color->crop, color->ranges);  // checks the ranges
}

Parameter ImageSpec::parameter() const {
  std::string value = "'" + printable(feature) + "': ";
  if (const auto* raw = std::get_if<RawPixels>(&source)) {
    value += "raw " + text(raw->size, raw->channels) + " " + std::string(to_string(raw->layout));
  } else {
    const auto& decode = std::get<DecodeOptions>(source);
    value += "decoded channels=" + std::to_string(decode.channels) +
             " max_pixels=" + std::to_string(decode.max_pixels);
  }
  value += describe(distortion);
  if (normalization) {
    for (const Parameter& parameter : normalization->parameters()) {
      value += ", " + parameter.name + "=" + parameter.value;
    }
  }
  const ImageFormat rows = format();
  value += ", " + std::string(to_string(rows.dtype)) + " " + std::string(to_string(rows.layout));
  return {"image", value};
}

struct DecoderPool::State {
  explicit State(const DecodeOptions& decode) : options(decode) {}
  const DecodeOptions options;
  std::mutex mutex;
  std::vector<ImageDecoder> idle;
};

DecoderPool::DecoderPool(const DecodeOptions& options) : state_(std::make_unique<State>(options)) {}

DecoderPool::~DecoderPool() = default;

template <class Use>
void DecoderPool::decode(std::span<const std::byte> file, const Use& use) {
  std::optional<ImageDecoder> decoder;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->idle.empty()) {
      decoder = std::move(state_->idle.back());
      state_->idle.pop_back();
    }
  }
  if (!decoder) decoder.emplace(state_->options);
  use(decoder->decode(file));
  const std::lock_guard lock(state_->mutex);
  state_->idle.push_back(*std::move(decoder));
}

uint64_t heap_bytes(const ImageColumn& column) {
  uint64_t bytes = heap_bytes(column.batch) + column.waiting.capacity() * sizeof(WaitingImage);
  for (const WaitingImage& image : column.waiting) bytes += image.pixels.capacity();
  return bytes;
}

ImageColumnCollator::ImageColumnCollator(const ImageSpec& spec)
    : spec_(spec),
      format_(spec.format()),
      is_sized_(format_.height > 0 && format_.width > 0 && format_.channels > 0) {
  spec_.check();
  if (const auto* decode = std::get_if<DecodeOptions>(&spec_.source)) {
    decoders_ = std::make_shared<DecoderPool>(*decode);
  }
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

void ImageColumnCollator::set(ImageColumn& column, size_t row, std::span<const std::byte> value,
                              const Record& record, const Random& random,
                              const uint8_t* next) const {
  // `pixels`: in `layout`.
  const auto place = [&](std::span<const uint8_t> pixels, const ImageSize& size, size_t channels,
                         Layout layout, const uint8_t* read_next) {
    check_channels(channels);
    if (is_sized_) {
      const bool planar = layout == Layout::nchw || channels == 1;
      write(planar ? pixels : planes(pixels, channels), size, random, format_,
            column.batch.image_at(row), read_next);
      return;
    }
    WaitingImage& image = column.waiting[row];
    image.record = record;
    image.size = size;
    image.channels = channels;
    image.random = random;
    image.pixels.resize(pixels.size());
    to_planes(pixels, channels, image.pixels.data());
  };
  try {
    if (const auto* raw = std::get_if<RawPixels>(&spec_.source)) {
      const size_t bytes = raw->size.height * raw->size.width * raw->channels;
      if (value.size() != bytes) {
        throw Error({.kind = ErrorKind::unsupported,
                     .reason = std::to_string(value.size()) + " bytes, not the " +
                               std::to_string(bytes) + " of raw pixels of " +
                               text(raw->size, raw->channels)});
      }
      place({reinterpret_cast<const uint8_t*>(value.data()), bytes}, raw->size, raw->channels,
            raw->layout, next);
    } else {
      decoders_->decode(value, [&](const DecodedImage& image) {
        place(image.pixels, {image.height, image.width}, image.channels, Layout::nhwc, nullptr);
      });
    }
  } catch (const Error& error) {
    throw in_record(error, spec_.feature, record);
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
                             .hint = "images of a batch need one size: crop them (for "
                                     "example by resize_with_crop_or_pad()), give "
                                     "decode_image() channels, or use batches of 1"}),
                      spec_.feature, image.record);
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
      throw in_record(error, spec_.feature, image.record);
    }
  }
  column.waiting.clear();  // frees the pixels: the batch may be lent for long
}

}  // namespace recordpipe::python
