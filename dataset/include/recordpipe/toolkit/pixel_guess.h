// How raw pixels lie in a feature: as the caller says, or guessed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/message_view.h"

namespace recordpipe {

enum class PixelLayout {
  interleaved,  // [height, width, channels]
  planar,       // [channels, height, width]
};

inline constexpr size_t kLongestSide = 65535;
inline constexpr size_t kMostChannels = 4;

struct PixelShape {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha

  size_t bytes() const { return height * width * channels; }
};

// What the caller says of raw pixels. Default: guessed.
struct PixelOptions {
  std::optional<PixelShape> shape = {};
  std::optional<PixelLayout> layout = {};
  // What texts call `shape`: a program gives the name of its option.
  std::string shape_called = "shape";
};

// Goes from record to record: each has a shape of its own, all have one layout.
class PixelGuess {
 public:
  // What was said counts, right or wrong.
  explicit PixelGuess(PixelOptions said = {}) : said_(std::move(said)), layout_(said_.layout) {}

  struct Shape {
    PixelShape pixels = {};
    std::string why = {};  // "guessed from 3072 bytes, as in CIFAR"
  };
  // Of a record's `bytes` bytes: as was said; or as its features height and width (image/height,
  // image/width) say; or that of images which often have so many bytes. Nothing where it would be
  // of another size.
  std::optional<Shape> shape_of(const MessageView& record, size_t bytes) const;
  // Why they have none: "3071 bytes, not the 3072 of 32x32x3".
  std::string misfit(size_t bytes) const;

  // A PNG file of pixels of this shape. Unless the layout was said, it is that in which the first
  // image is smoother, of those that aren't all of one colour.
  std::vector<std::byte> png(std::span<const std::byte> pixels, const Shape& shape);

  // How pixels were read, in words: "32 x 32 x 3, planar (chw); guessed from 3072 bytes, as in
  // CIFAR; the layout guessed from the first image". "" as long as there were none.
  std::string how() const;
  // Whether anything of that is a guess.
  bool is_guess() const { return first_ && !(said_.shape && (said_.layout || is_grey())); }

 private:
  bool is_grey() const { return first_->pixels.channels == 1; }

  const PixelOptions said_;
  std::optional<PixelLayout> layout_;
  std::optional<Shape> first_;
};

}  // namespace recordpipe
