#include "recordpipe/image/image_spec.h"

#include <utility>

#include "dataset/image/batches/size_text.h"
#include "recordpipe/error.h"
#include "recordpipe/philox.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse(std::string reason, std::string hint = {}) {
  throw Error(
      {.kind = ErrorKind::invalid_argument, .reason = std::move(reason), .hint = std::move(hint)});
}

std::string describe(const Resampling& resampling) {
  return std::string(to_string(resampling.interpolation)) +
         (resampling.antialias ? " antialias" : "");
}

std::string describe(const Distortion& distortion) {
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&distortion)) {
    return ", pad_crop_flip pad=" + std::to_string(pad->pad);
  }
  if (const auto* color = std::get_if<RandomCropFlipColor>(&distortion)) {
    return ", crop_flip_color " + text(color->crop) +
           " max_brightness=" + shortest_text(color->ranges.max_brightness) +
           " contrast=" + shortest_text(color->ranges.min_contrast) + ".." +
           shortest_text(color->ranges.max_contrast) +
           (color->standardize == Standardize::yes ? " standardize" : "");
  }
  if (const auto* central = std::get_if<CentralCrop>(&distortion)) {
    return ", central_crop " + text(central->crop);
  }
  if (const auto* random = std::get_if<RandomResizedCrop>(&distortion)) {
    const CropRanges& ranges = random->ranges;
    return ", random_resized_crop " + text(random->to) +
           " scale=" + shortest_text(ranges.min_scale) + ".." + shortest_text(ranges.max_scale) +
           " ratio=" + shortest_text(ranges.min_ratio) + ".." + shortest_text(ranges.max_ratio) +
           (ranges.flip ? " flip " : " ") + describe(random->resampling);
  }
  if (const auto* resize = std::get_if<ResizeAndCrop>(&distortion)) {
    std::string all;
    if (const auto* size = std::get_if<ImageSize>(&resize->to)) {
      all = ", resize " + text(*size) + " " + describe(resize->resampling);
    } else if (const auto* side = std::get_if<size_t>(&resize->to)) {
      all = ", resize short side=" + std::to_string(*side) + " " + describe(resize->resampling);
    }
    return resize->crop ? all + ", center_crop " + text(*resize->crop) : all;
  }
  return {};
}

}  // namespace

bool ImageSpec::is_random() const {
  return std::holds_alternative<RandomPadCropFlip>(distortion) ||
         std::holds_alternative<RandomCropFlipColor>(distortion) ||
         std::holds_alternative<RandomResizedCrop>(distortion);
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
  if (const auto* random = std::get_if<RandomResizedCrop>(&distortion)) size = random->to;
  if (const auto* resize = std::get_if<ResizeAndCrop>(&distortion)) {
    if (const auto* to = std::get_if<ImageSize>(&resize->to)) size = *to;
    if (std::holds_alternative<size_t>(resize->to)) size = {0, 0};
    if (resize->crop) size = *resize->crop;
  }
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
  if (const auto* resized = std::get_if<RandomResizedCrop>(&distortion)) {
    recordpipe::check(resized->ranges);
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
    if (decode.dct != Dct::accurate) value += " dct=" + std::string(to_string(decode.dct));
  }
  value += describe(distortion);
  if (is_random()) value += " seed=" + std::to_string(seed);
  if (normalization) {
    for (const Parameter& parameter : normalization->parameters()) {
      value += ", " + parameter.name + "=" + parameter.value;
    }
  }
  const ImageFormat rows = format();
  value += ", " + std::string(to_string(rows.dtype)) + " " + std::string(to_string(rows.layout));
  return {"image", value};
}

}  // namespace recordpipe
