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

struct CodecPool::State {
  explicit State(const DecodeOptions& decode) : options(decode) {}
  const DecodeOptions options;
  std::mutex mutex;
  std::vector<Codec> idle;
};

CodecPool::CodecPool(const DecodeOptions& options) : state_(std::make_unique<State>(options)) {}

CodecPool::~CodecPool() = default;

template <class Use>
void CodecPool::with_codec(const Use& use) {
  std::optional<Codec> codec;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->idle.empty()) {
      codec = std::move(state_->idle.back());
      state_->idle.pop_back();
    }
  }
  if (!codec) codec.emplace(Codec{.decoder = ImageDecoder(state_->options)});
  use(*codec);
  const std::lock_guard lock(state_->mutex);
  state_->idle.push_back(*std::move(codec));
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
  const auto* decode = std::get_if<DecodeOptions>(&spec_.source);
  codecs_ = std::make_shared<CodecPool>(decode ? *decode : DecodeOptions());
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

void ImageColumnCollator::place(ImageColumn& column, size_t row, const ImagePixels& image,
                                const Record& record, const Random& random,
                                const uint8_t* next) const {
  check_channels(image.channels);
  const bool planar = image.layout == Layout::nchw || image.channels == 1;
  if (is_sized_) {
    write(planar ? image.values : planes(image.values, image.channels), image.size, random, format_,
          column.batch.image_at(row), next);
    return;
  }
  WaitingImage& waiting = column.waiting[row];
  waiting.record = record;
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
                                   std::span<const std::byte> value, const Record& record,
                                   const Random& random, const uint8_t* next) const {
  const auto& raw = std::get<RawPixels>(spec_.source);
  const size_t bytes = raw.size.height * raw.size.width * raw.channels;
  if (value.size() != bytes) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = std::to_string(value.size()) + " bytes, not the " +
                           std::to_string(bytes) + " of raw pixels of " +
                           text(raw.size, raw.channels)});
  }
  const std::span pixels(reinterpret_cast<const uint8_t*>(value.data()), bytes);
  const std::optional<ResizedCrop> crop = resized_crop(raw.size, random);
  if (!crop) {
    return place(column, row, {pixels, raw.size, raw.channels, raw.layout}, record, random, next);
  }
  codecs_->with_codec([&](CodecPool::Codec& codec) {
    const std::span<const uint8_t> part =
        copy_part(pixels, raw.size, raw.channels, raw.layout, crop->source());
    const ImagePart& window = crop->resized.window;
    place(column, row,
          {codec.resizer.resize(part, raw.channels, crop->resized, Layout::nchw), window.size(),
           raw.channels, Layout::nchw},
          record, random, nullptr);
  });
}

void ImageColumnCollator::read_file(ImageColumn& column, size_t row,
                                    std::span<const std::byte> value, const Record& record,
                                    const Random& random) const {
  codecs_->with_codec([&](CodecPool::Codec& codec) {
    std::optional<ResizedCrop> crop;
    const DecodedImage& image = codec.decoder.decode(value, [&](const ImageInfo& info) {
      const ImageSize size{info.height, info.width};
      crop = resized_crop(size, random);
      return crop ? crop->source() : ImagePart{0, 0, size.height, size.width};
    });
    ImagePixels pixels{image.pixels, {image.height, image.width}, image.channels};
    if (crop) {
      pixels.values =
          codec.resizer.resize(image.pixels, image.channels, crop->resized, Layout::nchw);
      pixels.size = crop->resized.window.size();
      pixels.layout = Layout::nchw;
    }
    place(column, row, pixels, record, random, nullptr);
  });
}

void ImageColumnCollator::set(ImageColumn& column, size_t row, std::span<const std::byte> value,
                              const Record& record, const Random& random,
                              const uint8_t* next) const {
  try {
    if (std::holds_alternative<RawPixels>(spec_.source)) {
      read_raw(column, row, value, record, random, next);
    } else {
      read_file(column, row, value, record, random);
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
                             .hint = "images of a batch need one size: resize or crop them "
                                     "(for example by resize() to a height and a width), give "
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
