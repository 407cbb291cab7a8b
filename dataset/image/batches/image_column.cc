#include "recordpipe/image/batches/image_column.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "dataset/base/in_record.h"
#include "dataset/image/batches/image_pass.h"
#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/element.h"

namespace recordpipe {
namespace {

// A padded batch of fewer values is never refused.
constexpr double kMaxPaddedValues = 1 << 28;

// Returns `error` with the feature's name, and the path and offset of its record.
Error placed(const Error& error, const std::string& feature, const ImageOrigin& origin) {
  Error::Parts parts = error.parts();
  parts.reason = "image '" + printable(feature) + "': " + error.reason();
  return in_record(Error(std::move(parts)), origin.path, origin.offset, "file");
}

// Copies images of one size to the batch.
void join(ImageColumn& column, const ImageSpec& spec) {
  const size_t rows = column.images.size();
  if (rows == 0) return column.batch.reset(spec.format(), 0);
  const ImageFormat& first = column.images.front().format;
  for (const SizedImage& image : column.images) {
    if (image.format == first) continue;
    const auto size = [](const ImageFormat& format) {
      return size_text({format.height, format.width}, format.channels);
    };
    throw placed(Error({.kind = ErrorKind::unsupported,
                        .reason = size(image.format) +
                                  " pixels, and the first image of the batch has " + size(first),
                        .hint = "images of a batch need one size: resize or crop them "
                                "(for example by resize() to a height and a width), give "
                                "decode_image() channels, or choose the sizes \"padded\" or "
                                "\"list\""}),
                 spec.feature, {image.path, image.offset});
  }
  column.batch.reset(first, rows);
  for (size_t row = 0; row < rows; ++row) {
    std::ranges::copy(column.images[row].values, column.batch.image_at(row));
  }
}

// Copies images to the batch, padded.
void pad(ImageColumn& column, const ImageSpec& spec) {
  const size_t rows = column.images.size();
  column.sizes.clear();
  if (rows == 0) return column.batch.reset(spec.format(), 0);
  ImageFormat format = column.images.front().format;
  double values = 0;
  for (const SizedImage& image : column.images) {
    if (image.format.channels != format.channels) {
      throw placed(Error({.kind = ErrorKind::unsupported,
                          .reason = std::to_string(image.format.channels) +
                                    " channels, and the first image of the batch has " +
                                    std::to_string(format.channels),
                          .hint = "give decode_image() channels"}),
                   spec.feature, {image.path, image.offset});
    }
    format.height = std::max(format.height, image.format.height);
    format.width = std::max(format.width, image.format.width);
    values += static_cast<double>(image.format.values_per_image());
  }
  // An image of many rows and an image of many columns would take any memory.
  const double padded = static_cast<double>(format.height) * static_cast<double>(format.width) *
                        static_cast<double>(format.channels * rows);
  if (padded > kMaxPaddedValues && padded > ImageColumnCollator::kMaxPadding * values) {
    const SizedImage& widest = *std::ranges::max_element(
        column.images, {}, [](const SizedImage& image) { return image.format.width; });
    throw placed(Error({.kind = ErrorKind::limit_exceeded,
                        .reason = size_text({widest.format.height, widest.format.width}) +
                                  " pixels in a batch that is padded to " +
                                  size_text({format.height, format.width}),
                        .hint = "resize the images, or batch fewer of them"}),
                 spec.feature, {widest.path, widest.offset});
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
    : pass_(std::make_shared<const internal::ImagePass>(spec)) {
  const ImageFormat& format = pass_->format();
  is_sized_ = spec.sizes == ImageSizes::equal && format.height > 0 && format.width > 0 &&
              format.channels > 0;
}

const ImageSpec& ImageColumnCollator::spec() const { return pass_->spec(); }

void ImageColumnCollator::reset(ImageColumn& column, size_t rows) const {
  if (is_sized_) {
    column.batch.reset(pass_->format(), rows);
  } else {
    column.images.resize(rows);
  }
}

void ImageColumnCollator::set(ImageColumn& column, size_t row, std::span<const std::byte> bytes,
                              const Random& random, const ImageOrigin& origin,
                              const uint8_t* next) const {
  const auto memory = [&](const ImageFormat& format) {
    if (is_sized_) return column.batch.image_at(row);
    SizedImage& image = column.images[row];
    image.format = format;
    image.values.resize(format.bytes_per_image());
    image.path = origin.path;
    image.offset = origin.offset;
    return image.values.data();
  };
  try {
    pass_->compute(bytes, random, next, std::ref(memory));  // no copy, which would allocate
  } catch (const Error& error) {
    throw placed(error, spec().feature, origin);
  }
}

void ImageColumnCollator::check(std::span<const std::byte> bytes, const ImageOrigin& origin) const {
  try {
    pass_->check(bytes);
  } catch (const Error& error) {
    throw placed(error, spec().feature, origin);
  }
}

void ImageColumnCollator::finish(ImageColumn& column) const {
  if (is_sized_ || spec().sizes == ImageSizes::list) return;
  spec().sizes == ImageSizes::padded ? pad(column, spec()) : join(column, spec());
  column.images.clear();  // frees the values: the batch may be lent for long
}

}  // namespace recordpipe
