// Makes the images of records smaller, as a FeatureEdit (feature_edit.h). CMake target:
// recordpipe::toolkit_images.
//
//     const FeatureEdit edit = resize_images({.short_side = 256});
//     select_records(read, {.edit = edit}, write);
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/image/image_size.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {

struct ImageResizing {
  // The features with encoded images, one or any number in each record; a record may lack some.
  // Empty: the first of kUsualImageFeatures (usual_features.h) that holds bytes, which each record
  // must have.
  std::vector<std::string> features = {};
  // The length of the shorter side after resizing; the longer one keeps the ratio, rounded down.
  // Smaller images stay as they are, in every byte.
  size_t short_side = 256;
  int quality = 90;  // of JPEG images, 1 to 100
};

// Returns an edit that decodes each image, resizes it (bilinear, with antialiasing: as PIL and
// torchvision) and encodes it in its format: JPEG (encode_jpeg.h) or PNG. Grey images stay grey;
// CMYK becomes RGB, and palettes colours. Pixels keep the order in which they are stored; of
// EXIF, only a JPEG's orientation is kept. Features that hold the old height and width (one int64,
// named "height" and "width" beside the image feature, or alone) get the new ones. Images in
// feature lists of SequenceExamples are left as they are.
//
// The edit throws, for a record: Error{not_found} without any of the usual features, the errors of
// decode_image(), and Error{unsupported} for an image that is neither JPEG nor PNG, or a PNG with
// 16 bits per channel. Throws Error{invalid_argument} for a short side of 0 and another quality.
FeatureEdit resize_images(const ImageResizing& resizing);

struct SmallerImage {
  std::vector<std::byte> file;
  ImageSize old_size;
  ImageSize size;
};
// What resize_images() makes of one image: nothing if its shorter side is at most `short_side`.
// Throws the errors of decode_image(), and Error{unsupported} as the edit does.
std::optional<SmallerImage> smaller_image(std::span<const std::byte> file, size_t short_side,
                                          int quality = 90);

}  // namespace recordpipe
