#include "dataset/tfds/sequence_images.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "dataset/tfds/image_arrays.h"
#include "dataset/tfds/shapes.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

// The size of the images, if neither the distortion nor the EXIF orientation changes it.
bool keeps_size(const ImageSpec& spec) {
  const auto* const decode = std::get_if<DecodeOptions>(&spec.source);
  return decode && decode->orientation == Orientation::ignored &&
         (std::holds_alternative<std::monostate>(spec.distortion) ||
          std::holds_alternative<RandomPadCropFlip>(spec.distortion));
}

size_t known_or_0(int64_t dimension) {
  return dimension == kUnknown ? 0 : static_cast<size_t>(dimension);
}

[[noreturn]] void fail(ErrorKind kind, const ImageSpec& spec, const std::string& reason,
                       const std::string& hint, const ImageOrigin& origin) {
  throw Error(
      {.kind = kind,
       .path = std::string(origin.path),
       .offset = origin.path.empty() ? std::optional<uint64_t>() : std::optional(origin.offset),
       .reason = "feature \"" + printable(spec.feature) + "\": " + reason,
       .hint = hint});
}

Array rows_of(const Array& all, size_t begin, size_t end) {
  Array part{all.type, all.shape};
  part.shape.front() = end - begin;
  const size_t row = all.bytes.empty() ? 0 : all.bytes.size() / all.shape.front();
  part.bytes.assign(all.bytes.begin() + static_cast<ptrdiff_t>(begin * row),
                    all.bytes.begin() + static_cast<ptrdiff_t>(end * row));
  return part;
}

// The rows `begin` to `end` of a RaggedArray with these splits.
DictValue::List lists_of(const Array& all, std::span<const internal::AlignedVector<int64_t>> splits,
                         size_t begin, size_t end) {
  DictValue::List list;
  for (size_t row = begin; row < end; ++row) {
    const auto first = static_cast<size_t>(splits.front()[row]);
    const auto last = static_cast<size_t>(splits.front()[row + 1]);
    if (splits.size() == 1) {
      list.emplace_back(rows_of(all, first, last), Stacking::list);
    } else {
      list.emplace_back(lists_of(all, splits.subspan(1), first, last));
    }
  }
  return list;
}

}  // namespace

SequenceImages::SequenceImages(const Leaf& leaf, const ImageSpec& spec,
                               const ExampleOptions& options)
    : item_(spec.format()) {
  if (spec.sizes != ImageSizes::equal) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "\"" + printable(spec.feature) + "\" is in a sequence, whose images " +
                           "can't be " +
                           (spec.sizes == ImageSizes::padded ? "padded" : "a list of their own"),
                 .hint = "resize or crop them to one size"});
  }
  if (item_.height == 0 && keeps_size(spec)) {
    item_.height = known_or_0(leaf.feature->shape[0]);
    item_.width = known_or_0(leaf.feature->shape[1]);
  }
  is_known_ = item_.values_per_image() > 0;
  const uint64_t pixel = std::max<size_t>(item_.channels, 1) * size_of(item_.dtype);
  max_bytes_ = max_bytes_of_images(options, pixel);
}

void SequenceImages::check_bytes(uint64_t images, uint64_t bytes_of_each, const ImageSpec& spec,
                                 const ImageOrigin& origin) const {
  uint64_t bytes = 0;
  if (!__builtin_mul_overflow(images, bytes_of_each, &bytes) && bytes <= max_bytes_) return;
  fail(ErrorKind::limit_exceeded, spec,
       "more than " + std::to_string(max_bytes_) + " bytes of images in one sequence",
       "resize them to a smaller size, or raise max_pixels", origin);
}

Array SequenceImages::decoded(const BytesArray& files, const ImageColumnCollator& images,
                              const Random& random, const ImageOrigin& origin) const {
  const ImageSpec& spec = images.spec();
  const size_t count = files.size();
  check_bytes(count, item_.bytes_per_image(), spec, origin);
  ImageColumn column;
  images.reset(column, count);
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    images.set(column, i, files[i], random, origin);
    if (column.images.empty()) continue;
    const ImageFormat& format = column.images[i].format;
    check_bytes(1, bytes += format.bytes_per_image(), spec, origin);
    const ImageFormat& expected = is_known_ ? item_ : column.images.front().format;
    if (format == expected) continue;
    fail(ErrorKind::unsupported, spec,
         "images of the shapes " + shape_text(shape_of(expected)) + " and " +
             shape_text(shape_of(format)) + " in one sequence",
         "resize or crop them to one size, and give decode_image() channels", origin);
  }
  images.finish(column);
  const ImageFormat& format = count == 0 ? item_ : column.batch.format();
  Array array{type_of(format.dtype), shape_of(format), {}};
  array.shape.insert(array.shape.begin(), count);
  column.batch.exchange_bytes(array.bytes);
  return array;
}

void SequenceImages::set(DictValue& value, const ImageColumnCollator& images, const Random& random,
                         const ImageOrigin& origin) const {
  if (RaggedArray* const rows = value.get_if<RaggedArray>()) {
    Array array = decoded(std::get<BytesArray>(rows->values), images, random, origin);
    if (is_known_) {
      rows->values = std::move(array);
    } else {
      value = DictValue(lists_of(array, rows->splits, 0, rows->size()));
    }
    return;
  }
  Array array = decoded(value.bytes(), images, random, origin);
  value.become<Array>() = std::move(array);
  if (!is_known_) value.stacking = Stacking::list;
}

void SequenceImages::check(DictValue& value, const ImageColumnCollator& images,
                           const ImageOrigin& origin) const {
  const RaggedArray* const rows = value.get_if<RaggedArray>();
  const BytesArray& files = rows ? std::get<BytesArray>(rows->values) : value.bytes();
  for (size_t i = 0; i < files.size(); ++i) images.check(files[i], origin);
  const ImageFormat format = images.spec().format();
  if (format.values_per_image() > 0) {
    check_bytes(files.size(), format.bytes_per_image(), images.spec(), origin);
  } else {  // whether they have one size is known after they were decoded
    set(value, images, Random(0, 0, 0), origin);
  }
}

}  // namespace recordpipe::tfds
