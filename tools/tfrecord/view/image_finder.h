// Finds the image of a record, and converts it to a file for the browser.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/pixel_guess.h"

namespace recordpipe {

struct ImageFinderOptions {
  // "" selects the first feature that holds an image, after the usual names (usual_features.h).
  std::string feature = {};
  PixelOptions pixels = {};          // given properties of raw pixels
  size_t largest = size_t{3} << 20;  // larger images (files or pixels) are not shown
  // The shorter side of larger JPEG and PNG files is reduced to so many pixels; 0: they are shown
  // as they are.
  size_t thumbnail = 0;
};

// A record's image for the browser.
struct FoundImage {
  std::string type = {};  // "image/png"; "" if the image can't be shown
  std::vector<std::byte> file = {};
  size_t height = 0;  // 0 if unknown
  size_t width = 0;
  std::string problem = {};  // why the image can't be shown
};

// `format`: that of the file's first bytes (image_format.h). Reduces JPEG and PNG files to
// `thumbnail`, unless it is 0; refuses a file, or what it became, of more than `largest` bytes.
FoundImage image_of_file(std::string_view format, std::span<const std::byte> file, size_t thumbnail,
                         size_t largest);

// The first record with an image determines the feature and the layout of raw pixels for all other
// records.
class ImageFinder {
 public:
  explicit ImageFinder(ImageFinderOptions options = {});

  // Empty if the record has no image.
  std::optional<FoundImage> find(const MessageView& record);

  // The feature with the images, given or found; empty until it is known.
  const std::optional<std::string>& feature() const { return feature_; }
  bool feature_was_said() const { return !options_.feature.empty(); }
  bool feature_is_usual() const;
  // Whether any record had an image, even one that can't be shown.
  bool found_any() const { return found_any_; }
  // A description of the images: "jpeg and png files, as they are" (or "reduced to 256 pixels"),
  // "raw pixels, 32 x 32 x 3, planar (chw); guessed from …", or both. "" before the first image
  // that is shown.
  std::string how() const;
  // The closest mismatch in the first record that has one but no image: "feature x has 5 bytes, not
  // the 3072 of 32x32x3". Text is a mismatch only if its feature was given. "" if there is none.
  const std::string& misfit() const { return misfit_; }

 private:
  std::optional<FoundImage> find_in(const MessageView& record, const FeatureView& feature);

  const ImageFinderOptions options_;
  std::optional<std::string> feature_;
  PixelGuess pixels_;
  std::set<std::string, std::less<>> file_formats_;
  bool is_reduced_ = false;  // any file
  bool found_any_ = false;
  std::string misfit_;
};

}  // namespace recordpipe
