#include "tools/tfrecord/view/image_finder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/toolkit/image_format.h"
#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/resize_images.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

FoundImage too_large(size_t bytes, size_t largest) {
  return {.problem = fmt::format("an image of {}; this page takes up to {} for one",
                                 byte_count(bytes), byte_count(largest))};
}

}  // namespace

FoundImage image_of_file(std::string_view format, std::span<const std::byte> file, size_t thumbnail,
                         size_t largest) {
  if (format.empty()) return {.problem = "no image file"};
  FoundImage image{.type = fmt::format("image/{}", format), .file = {file.begin(), file.end()}};
  if (format == "png" || format == "jpeg") {
    try {
      const ImageInfo info = image_info(file);
      image.height = info.height;
      image.width = info.width;
      if (thumbnail > 0) {
        if (auto smaller = smaller_image(file, thumbnail)) image.file = std::move(smaller->file);
      }
    } catch (const Error& error) {
      return {.problem = error.what()};
    }
  }
  return image.file.size() > largest ? too_large(image.file.size(), largest) : image;
}

ImageFinder::ImageFinder(ImageFinderOptions options)
    : options_(std::move(options)), pixels_(options_.pixels) {
  if (feature_was_said()) feature_ = options_.feature;
}

std::optional<FoundImage> ImageFinder::find(const MessageView& record) {
  if (feature_) {
    const FeatureView* const feature = record.find_feature(*feature_);
    if (feature == nullptr || feature->size() == 0) return std::nullopt;
    std::optional<FoundImage> image = find_in(record, *feature);
    if (image) return image;
    const auto value = feature->single_bytes();
    std::string problem = value ? pixels_.misfit(value->size()) : "no single value of bytes";
    if (misfit_.empty()) misfit_ = fmt::format("feature {} has {}", name_text(*feature_), problem);
    return FoundImage{.problem = std::move(problem)};
  }
  for (const std::string_view name : kUsualImageFeatures) {
    const FeatureView* const feature = record.find_feature(name);
    if (feature == nullptr) continue;
    if (auto image = find_in(record, *feature)) {
      feature_ = name;
      return image;
    }
  }
  size_t nearest = 0;  // size of the largest value that is not an image
  const bool is_first = misfit_.empty();
  for (const auto& [name, feature] : record.features()) {
    std::optional<FoundImage> image = find_in(record, feature);
    if (image) {
      feature_ = name;
      return image;
    }
    const auto value = feature.single_bytes();
    if (!is_first || !value || value->size() <= nearest || is_text(*value)) continue;
    nearest = value->size();
    misfit_ = fmt::format("feature {} has {}", name_text(name), pixels_.misfit(nearest));
  }
  return std::nullopt;
}

bool ImageFinder::feature_is_usual() const {
  return feature_ && std::ranges::count(kUsualImageFeatures, *feature_) > 0;
}

std::string ImageFinder::how() const {
  std::string how;
  for (const std::string& format : file_formats_) {
    const bool is_last = format == *file_formats_.rbegin();
    how.append(how.empty() ? "" : is_last ? " and " : ", ").append(format);
  }
  if (is_reduced_) {
    how += fmt::format(" files, large ones reduced to {} pixels", options_.thumbnail);
  } else if (!how.empty()) {
    how += " files, as they are";
  }
  const std::string pixels = pixels_.how();
  if (pixels.empty()) return how;
  return how + (how.empty() ? "" : "; ") + "raw pixels, " + pixels;
}

// Returns nullopt if the feature holds no image.
std::optional<FoundImage> ImageFinder::find_in(const MessageView& record,
                                               const FeatureView& feature) {
  const auto value = feature.single_bytes();
  if (!value || value->empty()) return std::nullopt;
  const std::string_view format = image_format(*value);
  const bool is_file = !format.empty();
  const auto shape = is_file ? std::nullopt : pixels_.shape_of(record, value->size());
  if (!is_file && !shape) return std::nullopt;
  // (Text may have the size of an image by chance.)
  if (!is_file && !feature_ && !options_.pixels.shape && is_text(*value)) return std::nullopt;
  found_any_ = true;
  if (is_file) {
    file_formats_.emplace(format);
    FoundImage image = image_of_file(format, *value, options_.thumbnail, options_.largest);
    is_reduced_ |= image.problem.empty() && image.file.size() != value->size();
    return image;
  }
  if (value->size() > options_.largest) return too_large(value->size(), options_.largest);
  return FoundImage{.type = "image/png",
                    .file = pixels_.png(*value, *shape),
                    .height = shape->pixels.height,
                    .width = shape->pixels.width};
}

}  // namespace recordpipe
