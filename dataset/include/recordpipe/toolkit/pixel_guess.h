// Determines the shape and layout of raw pixels in a feature: as specified by the caller, or
// inferred.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/example/message_view.h"

namespace recordpipe {

enum class PixelLayout {
  interleaved,  // [height, width, channels]
  planar,       // [channels, height, width]
};

inline constexpr size_t kLongestSide = 65535;
inline constexpr size_t kMaxChannels = 4;

struct PixelShape {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha

  size_t bytes() const { return height * width * channels; }
};

// Shape and layout of raw pixels. Default: inferred.
struct PixelOptions {
  std::optional<PixelShape> shape = {};
  std::optional<PixelLayout> layout = {};
  // The name of `shape` in texts, for example a program's option.
  std::string shape_called = "shape";
};

// Interprets the pixels of all records in turn: each record has its own shape, all records share
// one layout.
class PixelGuess {
 public:
  // The values in `said` always take precedence, even if they are wrong.
  explicit PixelGuess(PixelOptions said = {}) : said_(std::move(said)), layout_(said_.layout) {}

  struct Shape {
    PixelShape pixels = {};
    std::string why = {};  // "guessed from 3072 bytes, as in CIFAR"
  };
  // Returns the shape of `bytes` bytes of pixels in a record. Sources, in this order: the specified
  // shape; the features height and width (image/height, image/width); common image sizes with this
  // number of bytes. nullopt if the number of bytes doesn't match.
  std::optional<Shape> shape_of(const MessageView& record, size_t bytes) const;
  // Returns the reason why `bytes` bytes have no shape: "3071 bytes, not the 3072 of 32x32x3".
  std::string misfit(size_t bytes) const;

  // Encodes pixels of this shape as PNG. Unless the layout was specified, chooses the layout in
  // which the first image is smoother. An image that is equally smooth in both layouts (for
  // example, of a single colour) does not decide the layout.
  std::vector<std::byte> png(std::span<const std::byte> pixels, const Shape& shape);

  // Describes how pixels were interpreted: "32 x 32 x 3, planar (chw); guessed from 3072 bytes, as
  // in CIFAR; the layout guessed from the first image". "" before the first image.
  std::string how() const;
  // Whether any part of how() was guessed.
  bool is_guess() const { return first_ && !(said_.shape && (said_.layout || is_grey())); }

 private:
  bool is_grey() const { return first_->pixels.channels == 1; }

  const PixelOptions said_;
  std::optional<PixelLayout> layout_;
  std::optional<Shape> first_;
};

}  // namespace recordpipe
