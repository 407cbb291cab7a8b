#include "recordpipe/image/batches/image_spec.h"

#include <utility>

#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse(std::string reason, std::string hint = {}) {
  throw Error(
      {.kind = ErrorKind::invalid_argument, .reason = std::move(reason), .hint = std::move(hint)});
}

std::string describe(const Resampling& resampling) {
  return std::string(to_string(resampling.interpolation)) +
         (resampling.antialias ? " antialias" : "") + (resampling.rounded ? "" : " unrounded");
}

std::string range(float low, float high) { return shortest_text(low) + ".." + shortest_text(high); }

std::string describe(const ColorJitterRanges& ranges) {
  return ", color_jitter brightness=" + range(ranges.min_brightness, ranges.max_brightness) +
         " contrast=" + range(ranges.min_contrast, ranges.max_contrast) +
         " saturation=" + range(ranges.min_saturation, ranges.max_saturation) +
         " hue=" + range(ranges.min_hue, ranges.max_hue);
}

// Of a resize, or null.
const Resampling* resampling_of(const Distortion& distortion) {
  if (const auto* random = std::get_if<RandomResizedCrop>(&distortion)) return &random->resampling;
  const auto* resize = std::get_if<ResizeAndCrop>(&distortion);
  return resize && resize->to.index() != 0 ? &resize->resampling : nullptr;
}

std::string describe(const Distortion& distortion) {
  if (const auto* pad = std::get_if<RandomPadCropFlip>(&distortion)) {
    return ", pad_crop_flip pad=" + std::to_string(pad->pad);
  }
  if (const auto* color = std::get_if<RandomCropFlipColor>(&distortion)) {
    return ", crop_flip_color " + size_text(color->crop) +
           " max_brightness=" + shortest_text(color->ranges.max_brightness) +
           " contrast=" + shortest_text(color->ranges.min_contrast) + ".." +
           shortest_text(color->ranges.max_contrast) +
           (color->standardize == Standardize::yes ? " standardize" : "");
  }
  if (const auto* central = std::get_if<CentralCrop>(&distortion)) {
    return ", central_crop " + size_text(central->crop);
  }
  if (const auto* random = std::get_if<RandomResizedCrop>(&distortion)) {
    const CropRanges& ranges = random->ranges;
    return ", random_resized_crop " + size_text(random->to) +
           " scale=" + shortest_text(ranges.min_scale) + ".." + shortest_text(ranges.max_scale) +
           " ratio=" + shortest_text(ranges.min_ratio) + ".." + shortest_text(ranges.max_ratio) +
           (ranges.flip ? " flip " : " ") + describe(random->resampling);
  }
  if (const auto* resize = std::get_if<ResizeAndCrop>(&distortion)) {
    std::string all;
    if (const auto* size = std::get_if<ImageSize>(&resize->to)) {
      all = ", resize " + size_text(*size) + " " + describe(resize->resampling);
    } else if (const auto* side = std::get_if<size_t>(&resize->to)) {
      all = ", resize short side=" + std::to_string(*side) + " " + describe(resize->resampling);
    }
    return resize->crop ? all + ", center_crop " + size_text(*resize->crop) : all;
  }
  return {};
}

void check_dtype(const ImageSpec& spec, DType dtype) {
  const char* const hint =
      "the dtype is uint8 for images of 8 bits, uint16 for images of 16 bits, "
      "or floating-point";
  if (dtype == DType::uint8 && (spec.is_wide() || spec.is_unrounded())) {
    refuse(spec.is_wide() ? "values of 16 bits don't fit uint8"
                          : "a resize that is not rounded needs a floating-point dtype",
           hint);
  }
  if (dtype == DType::uint16 && !spec.is_wide()) refuse("the image has 8 bits, not uint16", hint);
  if (dtype == DType::float16 && spec.is_wide() && !spec.normalization) {
    refuse("values of 16 bits don't fit float16 without a normalisation");
  }
}

// `channels`: of the image, 0 if not known.
void check_jitter(const ImageSpec& spec, size_t channels) {
  check(*spec.color_jitter);
  if (spec.is_wide()) refuse("color_jitter needs images of 8 bits");
  if (spec.is_unrounded()) refuse("color_jitter needs a resize that is rounded");
  if (std::holds_alternative<RandomCropFlipColor>(spec.distortion)) {
    refuse("color_jitter can't be combined with crop_flip_color");
  }
  if (channels != 0 && channels != 1 && channels != 3) {
    refuse("color_jitter needs images of 1 or 3 channels, not of " + std::to_string(channels));
  }
}

}  // namespace

std::string_view to_string(ImageSizes sizes) {
  switch (sizes) {
    case ImageSizes::equal:
      return "equal";
    case ImageSizes::padded:
      return "padded";
    case ImageSizes::list:
      return "list";
  }
  return {};
}

bool ImageSpec::is_wide() const {
  const auto* decode = std::get_if<DecodeOptions>(&source);
  return decode && decode->bits == 16;
}

bool ImageSpec::is_unrounded() const {
  const Resampling* resampling = resampling_of(distortion);
  return resampling && !resampling->rounded;
}

bool ImageSpec::is_random() const {
  return color_jitter || std::holds_alternative<RandomPadCropFlip>(distortion) ||
         std::holds_alternative<RandomCropFlipColor>(distortion) ||
         std::holds_alternative<RandomResizedCrop>(distortion);
}

ImageFormat ImageSpec::format() const {
  const bool changed =
      normalization || is_unrounded() || std::holds_alternative<RandomCropFlipColor>(distortion);
  const DType unchanged = is_wide() ? DType::uint16 : DType::uint8;
  ImageFormat format{.height = 0,
                     .width = 0,
                     .channels = 0,
                     .dtype = dtype.value_or(changed ? DType::float32 : unchanged),
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
  check_dtype(*this, rows.dtype);
  if (dct_scaling && std::holds_alternative<RawPixels>(source)) {
    refuse("raw pixels have no DCT to be scaled");
  }
  if (color_jitter) check_jitter(*this, rows.channels);
  const auto* color = std::get_if<RandomCropFlipColor>(&distortion);
  if (!color) return;
  if (is_wide()) refuse("crop_flip_color needs images of 8 bits");
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
    value +=
        "raw " + size_text(raw->size, raw->channels) + " " + std::string(to_string(raw->layout));
  } else {
    const auto& decode = std::get<DecodeOptions>(source);
    value += "decoded channels=" + std::to_string(decode.channels) +
             " max_pixels=" + std::to_string(decode.max_pixels);
    if (decode.dct != Dct::accurate) value += " dct=" + std::string(to_string(decode.dct));
    if (decode.bits != 8) value += " bits=" + std::to_string(decode.bits);
    if (decode.orientation == Orientation::upright) value += " upright";
    if (decode.accept_damaged) value += " accept_damaged";
    if (dct_scaling) value += " dct_scaling";
  }
  value += describe(distortion);
  if (color_jitter) value += describe(*color_jitter);
  if (is_random()) value += " seed=" + std::to_string(seed);
  if (normalization) {
    for (const Parameter& parameter : normalization->parameters()) {
      value += ", " + parameter.name + "=" + parameter.value;
    }
  }
  const ImageFormat rows = format();
  value += ", " + std::string(to_string(rows.dtype)) + " " + std::string(to_string(rows.layout));
  if (sizes != ImageSizes::equal) value += " " + std::string(to_string(sizes));
  return {"image", value};
}

}  // namespace recordpipe
