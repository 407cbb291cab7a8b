// Image operators, and the batches of CIFAR-10, in Python.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset/dataset.h"
#include "python/native/module.h"
#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/image/batches/image_spec.h"

namespace recordpipe::python {
namespace {

using SelfDataset = const PythonDataset&;

[[noreturn]] void refuse_image(std::string reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = std::move(reason)});
}

// The names are checked in Python.
DType image_dtype(const std::string& name) {
  for (const DType dtype : {DType::uint16, DType::float32, DType::float16}) {
    if (to_string(dtype) == name) return dtype;
  }
  return DType::uint8;
}

Layout layout_of(const std::string& name) { return name == "nchw" ? Layout::nchw : Layout::nhwc; }

// `seed`: of a random distortion.
PythonDataset distorted(SelfDataset dataset, const std::string& feature,
                        const Distortion& distortion, uint64_t seed = 0) {
  ImageSpec image = dataset.pending_spec().image(feature);
  if (image.distortion.index() != 0) {
    refuse_image("image '" + printable(feature) + "' has a crop already");
  }
  if (image.normalization || image.color_jitter) {
    refuse_image("image '" + printable(feature) + "' is cropped after its " +
                 (image.normalization ? "normalisation" : "color_jitter"));
  }
  image.distortion = distortion;
  image.seed = seed;
  return dataset.with_image(image);
}

Resampling resampling_of(const std::string& interpolation, bool antialias, bool rounded) {
  for (const Interpolation known : {Interpolation::nearest, Interpolation::bicubic}) {
    if (to_string(known) == interpolation) return {known, antialias, rounded};
  }
  return {Interpolation::bilinear, antialias, rounded};
}

ImageSizes sizes_of(const std::string& name) {
  for (const ImageSizes sizes : {ImageSizes::padded, ImageSizes::list}) {
    if (to_string(sizes) == name) return sizes;
  }
  return ImageSizes::equal;
}

// Without a seed, the image has a random distortion, whose numbers go on.
PythonDataset color_jittered(SelfDataset dataset, const std::string& feature,
                             const ColorJitterRanges& ranges, std::optional<uint64_t> seed) {
  ImageSpec image = dataset.pending_spec().image(feature);
  if (image.color_jitter)
    refuse_image("image '" + printable(feature) + "' has a color_jitter already");
  if (image.normalization) {
    refuse_image("image '" + printable(feature) + "' changes its colours after its normalisation");
  }
  if (image.is_random() && seed) {
    refuse_image("the seed of the crop of image '" + printable(feature) +
                 "' is that of color_jitter, too");
  }
  image.color_jitter = ranges;
  if (!image.is_random() || seed) image.seed = seed.value_or(0);
  return dataset.with_image(image);
}

// Crops the centre of the result of resize(), or of the image.
PythonDataset center_cropped(SelfDataset dataset, const std::string& feature,
                             const ImageSize& crop) {
  ImageSpec image = dataset.pending_spec().image(feature);
  auto* const resized = std::get_if<ResizeAndCrop>(&image.distortion);
  if (!resized || resized->crop || image.normalization || image.color_jitter) {
    return distorted(dataset, feature, ResizeAndCrop{.crop = crop});
  }
  resized->crop = crop;
  return dataset.with_image(image);
}

PythonDataset decoded(SelfDataset dataset, ImageSpec image) {
  for (const ImageColumnCollator& other : dataset.pending_spec().collator.images()) {
    if (other.spec().feature == image.feature) {
      refuse_image("'" + printable(image.feature) + "' is an image already");
    }
  }
  return dataset.with_image(image);
}

// `values`: one for all channels, or one for each. Returns their number, 0 if they hold for all.
size_t set_channels(const std::vector<float>& values,
                    std::array<float, Normalization::kMaxChannels>& out) {
  if (values.size() == 1) {
    out.fill(values[0]);
    return 0;
  }
  if (values.empty() || values.size() > out.size()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a mean or std has 1 to 4 values, of the channels of an image",
                 .hint = "scale other features with map()"});
  }
  std::ranges::copy(values, out.begin());
  return values.size();
}

PythonDataset normalized(SelfDataset dataset, const std::string& feature,
                         const Normalization& normalization, size_t channels) {
  ImageSpec image = dataset.pending_spec().image(feature);
  if (image.normalization) refuse_image("image '" + printable(feature) + "' is normalised already");
  image.normalization = normalization;
  image.normalized_channels = channels;
  return dataset.with_image(image);
}

PythonDataset normalize(SelfDataset dataset, const std::string& feature,
                        const std::vector<float>& mean, const std::vector<float>& stddev,
                        float scale) {
  Normalization normalization{.scale = scale};
  const size_t means = set_channels(mean, normalization.mean);
  const size_t stddevs = set_channels(stddev, normalization.stddev);
  if (means > 0 && stddevs > 0 && means != stddevs)
    refuse_image("mean and std differ in their number");
  return normalized(dataset, feature, normalization, std::max(means, stddevs));
}

Cifar10Subset subset_of(const std::string& name) {
  for (const Cifar10Subset subset : {Cifar10Subset::validation, Cifar10Subset::eval}) {
    if (to_string(subset) == name) return subset;
  }
  return Cifar10Subset::train;
}

Normalization normalization_of(bool per_image, const std::vector<float>& mean,
                               const std::vector<float>& stddev, float scale) {
  Normalization normalization{.scale = scale, .per_image = per_image};
  set_channels(mean, normalization.mean);
  set_channels(stddev, normalization.stddev);
  return normalization;
}

}  // namespace

void define_image_operators(nb::module_& module) {
  module.def("parse_spec", [](SelfDataset dataset) {
    return std::const_pointer_cast<ParseSpec>(dataset.spec());
  });
  module.def("decode_image", [](SelfDataset dataset, const std::string& feature, int channels,
                                uint64_t max_pixels, bool fast, bool wide, bool upright,
                                bool dct_scaling) {
    return decoded(dataset, {.feature = feature,
                             .source = DecodeOptions{.channels = channels,
                                                     .bits = wide ? 16 : 8,
                                                     .max_pixels = max_pixels,
                                                     .dct = fast ? Dct::fast : Dct::accurate,
                                                     .orientation = upright ? Orientation::upright
                                                                            : Orientation::ignored},
                             .dct_scaling = dct_scaling});
  });
  module.def("decode_raw", [](SelfDataset dataset, const std::string& feature, size_t height,
                              size_t width, size_t channels, const std::string& layout) {
    return decoded(dataset, {.feature = feature,
                             .source = RawPixels{{height, width}, channels, layout_of(layout)}});
  });
  module.def("pad_crop_flip",
             [](SelfDataset dataset, const std::string& feature, int pad, uint64_t seed) {
               return distorted(dataset, feature, RandomPadCropFlip{pad}, seed);
             });
  module.def("crop_flip_color", [](SelfDataset dataset, const std::string& feature, size_t height,
                                   size_t width, uint64_t seed, float max_brightness,
                                   float min_contrast, float max_contrast, bool standardize) {
    return distorted(dataset, feature,
                     RandomCropFlipColor{{height, width},
                                         {max_brightness, min_contrast, max_contrast},
                                         standardize ? Standardize::yes : Standardize::no},
                     seed);
  });
  module.def("central_crop",
             [](SelfDataset dataset, const std::string& feature, size_t height, size_t width) {
               return distorted(dataset, feature, CentralCrop{{height, width}});
             });
  module.def("random_resized_crop",
             [](SelfDataset dataset, const std::string& feature, size_t height, size_t width,
                std::pair<double, double> scale, std::pair<double, double> ratio, bool flip,
                const std::string& interpolation, bool antialias, bool rounded, uint64_t seed) {
               return distorted(
                   dataset, feature,
                   RandomResizedCrop{{height, width},
                                     {scale.first, scale.second, ratio.first, ratio.second, flip},
                                     resampling_of(interpolation, antialias, rounded)},
                   seed);
             });
  module.def("resize_short_side", [](SelfDataset dataset, const std::string& feature, size_t side,
                                     const std::string& interpolation, bool antialias,
                                     bool rounded) {
    return distorted(
        dataset, feature,
        ResizeAndCrop{.to = side, .resampling = resampling_of(interpolation, antialias, rounded)});
  });
  module.def("resize", [](SelfDataset dataset, const std::string& feature, size_t height,
                          size_t width, const std::string& interpolation, bool antialias,
                          bool rounded) {
    return distorted(dataset, feature,
                     ResizeAndCrop{.to = ImageSize{height, width},
                                   .resampling = resampling_of(interpolation, antialias, rounded)});
  });
  module.def("center_crop",
             [](SelfDataset dataset, const std::string& feature, size_t height, size_t width) {
               return center_cropped(dataset, feature, {height, width});
             });
  module.def(
      "color_jitter",
      [](SelfDataset dataset, const std::string& feature, std::pair<float, float> brightness,
         std::pair<float, float> contrast, std::pair<float, float> saturation,
         std::pair<float, float> hue, std::optional<uint64_t> seed) {
        return color_jittered(dataset, feature,
                              {brightness.first, brightness.second, contrast.first, contrast.second,
                               saturation.first, saturation.second, hue.first, hue.second},
                              seed);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("normalize", &normalize);
  module.def("per_image_standardization", [](SelfDataset dataset, const std::string& feature) {
    return normalized(dataset, feature, {.per_image = true}, 0);
  });
  module.def("image_format",
             [](SelfDataset dataset, const std::string& feature, std::optional<std::string> dtype,
                std::optional<std::string> layout, std::optional<std::string> sizes) {
               ImageSpec image = dataset.pending_spec().image(feature);
               if (dtype) image.dtype = image_dtype(*dtype);
               if (layout) image.layout = layout_of(*layout);
               if (sizes) image.sizes = sizes_of(*sizes);
               return dataset.with_image(image);
             });

  module.def("cifar10_files", [](const std::string& data_dir, const std::string& subset) {
    return cifar10_files(data_dir, subset_of(subset));
  });
  module.def(
      "cifar10_batches",
      [](const std::vector<std::string>& files, size_t batch_size, bool drop_remainder,
         uint64_t seed, size_t shuffle_buffer, bool global_shuffle, bool distort, int64_t epochs,
         const std::string& dtype, const std::string& layout, bool per_image,
         const std::vector<float>& mean, const std::vector<float>& stddev, float scale,
         size_t num_shards, size_t shard_index, std::optional<size_t> prefetch, size_t threads) {
        return PythonDataset(cifar10_batches(files, {.batch_size = batch_size,
                                                     .drop_remainder = drop_remainder,
                                                     .seed = seed,
                                                     .shuffle_buffer = shuffle_buffer,
                                                     .global_shuffle = global_shuffle,
                                                     .distort = distort,
                                                     .epochs = epochs,
                                                     .dtype = image_dtype(dtype),
                                                     .layout = layout_of(layout),
                                                     .normalization = normalization_of(
                                                         per_image, mean, stddev, scale),
                                                     .num_shards = num_shards,
                                                     .shard_index = shard_index,
                                                     .prefetch = prefetch.value_or(kAutotune),
                                                     .threads = threads}),
                             cifar10_spec());
      });
}

}  // namespace recordpipe::python
