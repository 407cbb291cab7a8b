// Finds the image of a record, and makes a file of it that a browser shows.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/pixel_guess.h"

namespace recordpipe {

struct ImageFinderOptions {
  // "" for the first one that holds an image; the usual ones (usual_features.h) come first.
  std::string feature = {};
  PixelOptions pixels = {};          // what was said of raw pixels
  size_t largest = size_t{3} << 20;  // of more bytes, files or pixels, nothing is made
};

// What a browser shows for a record.
struct FoundImage {
  std::string type = {};  // "image/png"; "" where it can't be shown
  std::vector<std::byte> file = {};
  size_t height = 0;  // 0 where it isn't known
  size_t width = 0;
  std::string problem = {};  // why it can't be shown
};

// Decides at the first record with an image which feature it is and how raw pixels lie, and stays
// with that.
class ImageFinder {
 public:
  explicit ImageFinder(ImageFinderOptions options = {});

  // Nothing where the record has no image.
  std::optional<FoundImage> find(const MessageView& record);

  // The feature that images come from, said or found; nothing as long as it is neither.
  const std::optional<std::string>& feature() const { return feature_; }
  bool feature_was_said() const { return !options_.feature.empty(); }
  bool feature_is_usual() const;
  // Whether there was an image, if only one that can't be shown.
  bool found_any() const { return found_any_; }
  // How images are read, in words: "jpeg and png files, as they are", "raw pixels, 32 x 32 x 3,
  // planar (chw); guessed from …", or both. "" as long as none was shown.
  std::string how() const;
  // What came nearest to one in the first record without, text apart, unless its feature was said:
  // "feature x has 5 bytes, not the 3072 of 32x32x3". "" where there was nothing.
  const std::string& misfit() const { return misfit_; }

 private:
  std::optional<FoundImage> find_in(const MessageView& record, const FeatureView& feature);
  FoundImage file_image(std::string_view format, std::span<const std::byte> file);
  FoundImage too_large(size_t bytes) const;

  const ImageFinderOptions options_;
  std::optional<std::string> feature_;
  PixelGuess pixels_;
  std::set<std::string, std::less<>> file_formats_;
  bool found_any_ = false;
  std::string misfit_;
};

}  // namespace recordpipe
