#include "recordpipe/toolkit/resize_images.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "dataset/base/require.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/encode_jpeg.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/image/resize.h"
#include "recordpipe/image/resized_crop.h"
#include "recordpipe/toolkit/usual_features.h"

namespace recordpipe {
namespace {

using Bytes = std::span<const std::byte>;

// An image feature of a record: what replaces it.
struct NewImages {
  std::vector<std::vector<std::byte>> files = {};  // empty: unchanged
  ImageSize old_size = {};                         // of the last image that changed
  ImageSize new_size = {};
  bool changed = false;
};

Resizer& resizer() {
  thread_local Resizer own;
  return own;
}

std::vector<std::byte> resized(const DecodedImage& image, const ImageSize& from,
                               const ImageSize& to, const ImageInfo& info, int quality) {
  const auto pixels = resizer().resize(image.pixels, image.channels, Resized::whole(from, to));
  if (info.format != ImageFileFormat::jpeg) {
    return encode_png(pixels, to.height, to.width, image.channels);
  }
  return encode_jpeg(pixels, to.height, to.width, image.channels,
                     {.quality = quality, .orientation = info.orientation});
}

std::vector<std::byte> resized_png16(const DecodedImage& image, const ImageSize& from,
                                     const ImageSize& to) {
  std::vector<uint16_t> pixels;
  const auto values =
      resizer().resize_to_floats(image.pixels16, image.channels, Resized::whole(from, to));
  for (const float value : values) {
    pixels.push_back(static_cast<uint16_t>(std::clamp(std::nearbyint(value), 0.0f, 65535.0f)));
  }
  return encode_png(pixels, to.height, to.width, image.channels);
}

class ImageEdit {
 public:
  explicit ImageEdit(ImageResizing resizing) : resizing_(std::move(resizing)) {}

  std::string operator()(const MessageView& record) const {
    ExampleBuilder builder;
    for (const std::string& name : resizing_.features) {
      if (const FeatureView* const feature = record.find_feature(name)) {
        replace(record, name, *feature, builder);
      }
    }
    if (resizing_.features.empty()) replace_usual(record, builder);
    return builder.serialize();
  }

 private:
  void replace_usual(const MessageView& record, ExampleBuilder& builder) const {
    for (const std::string_view name : kUsualImageFeatures) {
      const FeatureView* const feature = record.find_feature(name);
      if (!feature || feature->kind() != FeatureKind::bytes) continue;
      return replace(record, std::string(name), *feature, builder);
    }
    std::string names;
    for (const std::string_view name : kUsualImageFeatures) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    throw Error({.kind = ErrorKind::not_found,
                 .reason = "no image: none of the features " + names + " holds bytes"});
  }

  // Adds to `builder` what replaces an image feature and its size.
  void replace(const MessageView& record, const std::string& name, const FeatureView& feature,
               ExampleBuilder& builder) const {
    NewImages images;
    std::vector<Bytes> values;
    for_each_value<FeatureKind::bytes>(feature, [&](Bytes value) { values.push_back(value); });
    images.files.reserve(values.size());  // so that views of the files stay valid
    for (Bytes& value : values) {
      try {
        resize(value, images);
      } catch (const Error& error) {
        Error::Parts parts = error.parts();
        parts.reason = "feature " + printable(name) + ": " + parts.reason;
        if (parts.offset) {  // not of the record
          parts.reason += " (byte " + std::to_string(*parts.offset) + " of its value)";
        }
        parts.offset.reset();
        throw Error(std::move(parts));
      }
    }
    if (!images.changed) return;
    builder.set_bytes_list(name, values);
    const std::string beside = name.substr(0, name.rfind('/') + 1);  // "image/", or ""
    for (const std::string& prefix : {beside, std::string()}) {
      follow(record, prefix + "height", images.old_size.height, images.new_size.height, builder);
      follow(record, prefix + "width", images.old_size.width, images.new_size.width, builder);
    }
  }

  static void follow(const MessageView& record, const std::string& name, size_t from, size_t to,
                     ExampleBuilder& builder) {
    const FeatureView* const feature = record.find_feature(name);
    if (!feature || feature->single_int64() != static_cast<int64_t>(from)) return;
    builder.set_int64(name, static_cast<int64_t>(to));
  }

  // Replaces an encoded image by a smaller one in `images`, unless it is small enough.
  void resize(Bytes& file, NewImages& images) const {
    auto smaller = smaller_image(file, resizing_.short_side, resizing_.quality);
    if (!smaller) return;
    images.files.push_back(std::move(smaller->file));
    file = images.files.back();
    images.old_size = smaller->old_size;
    images.new_size = smaller->size;
    images.changed = true;
  }

  ImageResizing resizing_;
};

}  // namespace

std::optional<SmallerImage> smaller_image(std::span<const std::byte> file, size_t short_side,
                                          int quality) {
  const ImageInfo info = image_info(file);
  if (info.format != ImageFileFormat::jpeg && info.format != ImageFileFormat::png) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "a " + std::string(to_string(info.format)) +
                           " image, which can't be written in its format",
                 .hint = "JPEG and PNG images are resized"});
  }
  if (std::min(info.height, info.width) <= short_side) return std::nullopt;
  thread_local ImageDecoder decoder8, decoder16({.bits = 16});
  const bool is_deep = info.bits_per_channel == 16;
  const DecodedImage& image = (is_deep ? decoder16 : decoder8).decode(file);
  const ImageSize from{image.height, image.width};
  const ImageSize to = size_of_short_side(from, short_side);
  return SmallerImage{
      is_deep ? resized_png16(image, from, to) : resized(image, from, to, info, quality), from, to};
}

FeatureEdit resize_images(const ImageResizing& resizing) {
  require(resizing.short_side > 0 && resizing.short_side <= kMaxResizedSide,
          "images are resized to a side of 1 to " + std::to_string(kMaxResizedSide) + " pixels");
  require(resizing.quality >= 1 && resizing.quality <= 100,
          "the quality of a JPEG image is 1 to 100");
  return {.replace = ImageEdit(resizing),
          .replaced = {resizing.features.begin(), resizing.features.end()}};
}

}  // namespace recordpipe
