// Resizes images of 8 bits per channel, with results of 8 bits, and images of 8 or 16 bits, with
// results in float.
//
// Results of 8 bits: a separable filter: first each row, then each column, as in PIL (Pillow), with
// the same filters, the same fixed-point coefficients and the same rounding to 8 bits between the
// two passes. With antialiasing, the result equals Image.resize() of Pillow 11 in every bit.
// (Pillow 13 filters the columns first where that is less work, which changes values by 1, those of
// the cubic filter by more beside clipped values.) Channels are independent: PIL weights colours by
// alpha first. Pixel centres are at half-integers: pixel x of `to` is at (x + 0.5) * from / to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/image/image_size.h"

namespace recordpipe {

enum class Interpolation {
  nearest,   // the pixel at the centre, without a filter
  bilinear,  // the triangle filter
  bicubic,   // Keys's cubic convolution with a = -0.5 (https://doi.org/10.1109/TASSP.1981.1163711);
             // values are clipped to 0..255
};
std::string_view to_string(Interpolation interpolation);  // "nearest", ...

struct Resampling {
  Interpolation interpolation = Interpolation::bilinear;
  // true (default): where the image shrinks, the filter is as wide as the pixels of the result, as
  // in PIL, and in torchvision and tf.image with antialias=True. false: the filter has the width of
  // the image's pixels, and skips pixels, as with antialias=False. (torchvision's bicubic filter
  // without antialiasing has a = -0.75 instead.) No effect on `nearest`.
  bool antialias = true;
  // For ImageColumnCollator: true (default): results are rounded to the image's type, as those of
  // PIL. false: results are floats, Resizer::resize_to_floats, as those of tf.image.resize.
  bool rounded = true;

  bool operator==(const Resampling&) const = default;
};

// A part of an image whose edges may lie inside of pixels.
struct ResizeBox {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
  bool operator==(const ResizeBox&) const = default;
};

// What is wanted of an image of size `from` that is resized to `to`.
struct Resized {
  ImageSize from;
  ImageSize to;
  ImagePart window;   // of the resized image
  bool flip = false;  // whether the window is mirrored, left and right
  Resampling resampling = {};
  // The part of `from` that becomes `to` (default: all). Pixels of `from` outside of it are used
  // where the filter reaches them.
  std::optional<ResizeBox> box = {};

  // The whole image.
  static Resized whole(const ImageSize& from, const ImageSize& to,
                       const Resampling& resampling = {}) {
    return {from, to, {0, 0, to.height, to.width}, false, resampling, {}};
  }
  // The part of the image that the window depends on. Throws Error{invalid_argument} for an empty
  // size, a size above kMaxResizedSide, a window that is not inside of `to`, and a box that is
  // empty or not inside of `from`; Error{limit_exceeded} if the window, or the rows of the part
  // with the width of the window, have more than 2^26 pixels.
  ImagePart source() const;
};

constexpr size_t kMaxResizedSide = size_t{1} << 20;

namespace internal {
template <class From, class To>
struct ResizePass;
}  // namespace internal

// The loops of both passes, for tests and benchmarks. All implementations compute the same bytes.
struct ResizeImplementation {
  const char* name;  // "portable", "highway"
  void (*resize_rows)(const internal::ResizePass<uint8_t, uint8_t>& pass);
  void (*resize_columns)(const internal::ResizePass<uint8_t, uint8_t>& pass);
  void (*float_rows8)(const internal::ResizePass<uint8_t, float>& pass);
  void (*float_rows16)(const internal::ResizePass<uint16_t, float>& pass);
  void (*float_columns)(const internal::ResizePass<float, float>& pass);
};

// Returns the implementations: the portable one first, the one in use by default last.
std::span<const ResizeImplementation> resize_implementations();

// Resizes many images, and reuses its memory and its last filters. Not thread-safe.
class Resizer {
 public:
  explicit Resizer(const ResizeImplementation& implementation = resize_implementations().back());
  Resizer(Resizer&&) noexcept;
  Resizer& operator=(Resizer&&) noexcept;
  ~Resizer();

  // Returns the window, [height, width, channels] or [channels, height, width]; valid until the
  // next call.
  //   part:     the pixels of resized.source(), [height, width, channels]
  //   channels: 1 to 4
  // Throws Error{invalid_argument} for another size of `part` or number of channels, and as
  // source() does.
  std::span<const uint8_t> resize(std::span<const uint8_t> part, size_t channels,
                                  const Resized& resized, Layout layout = Layout::nhwc);
  // The same without rounding between the passes and at the end; values are not clipped. Weights
  // are rounded to float, and each weighted sum is computed in float: the error of a value is below
  // 1e-6 of the largest. Beside tf.image.resize of the same image (TensorFlow 2.21, values to 255):
  // tests/python/peers/tensorflow_photos_test.py.
  std::span<const float> resize_to_floats(std::span<const uint8_t> part, size_t channels,
                                          const Resized& resized, Layout layout = Layout::nhwc);
  std::span<const float> resize_to_floats(std::span<const uint16_t> part, size_t channels,
                                          const Resized& resized, Layout layout = Layout::nhwc);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
