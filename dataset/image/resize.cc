#include "recordpipe/image/resize.h"

#include <algorithm>
#include <array>
#include <string>

#include "dataset/image/filter_table.h"
#include "dataset/image/resize_implementations.h"
#include "dataset/image/size_text.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using internal::FilterTable;
using internal::ResizedLine;
using internal::ResizePass;

constexpr std::array<ResizeImplementation, 2> kResizeImplementations = {{
    {"portable", internal::resize_rows_portable, internal::resize_columns_portable,
     internal::float_rows8_portable, internal::float_rows16_portable,
     internal::float_columns_portable},
    {"highway", internal::resize_rows_highway, internal::resize_columns_highway,
     internal::float_rows8_highway, internal::float_rows16_highway,
     internal::float_columns_highway},
}};

// The most pixels of the window, and between the passes: 256 MiB of four channels. A tall image
// that becomes wide would take any memory, as would a line of pixels whose short side grows.
constexpr size_t kMaxPixels = size_t{1} << 26;

[[noreturn]] void refuse(std::string reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = "resize: " + std::move(reason)});
}

void check_resized(const Resized& resized) {
  for (const ImageSize& size : {resized.from, resized.to}) {
    if (size.height < 1 || size.width < 1 || size.height > kMaxResizedSide ||
        size.width > kMaxResizedSide) {
      refuse("a size of " + size_text(size) + " pixels; a side has 1 to " +
             std::to_string(kMaxResizedSide));
    }
  }
  if (!resized.window.is_inside(resized.to)) {
    refuse("a window of " + size_text(resized.window.size()) + " pixels at " +
           std::to_string(resized.window.top) + ", " + std::to_string(resized.window.left) +
           " is not inside of " + size_text(resized.to));
  }
  if (!resized.box) return;
  const ResizeBox& box = *resized.box;
  if (!(box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0 &&
        box.top + box.height <= static_cast<double>(resized.from.height) &&
        box.left + box.width <= static_cast<double>(resized.from.width))) {
    refuse("a box that is empty, or not inside of " + size_text(resized.from));
  }
}

// `rows`: of the image, that are read.
void check_pixels(size_t rows, const ImagePart& window) {
  const size_t most = std::max(rows, window.height);
  if (most <= kMaxPixels / window.width) return;
  throw Error({.kind = ErrorKind::limit_exceeded,
               .reason = "resize: " + std::to_string(most) + " rows of " +
                         std::to_string(window.width) + " pixels are too many"});
}

ResizeBox box_of(const Resized& resized) {
  if (resized.box) return *resized.box;
  return {0, 0, static_cast<double>(resized.from.height), static_cast<double>(resized.from.width)};
}

ResizedLine row_of(const Resized& resized) {
  const ResizeBox box = box_of(resized);
  return {.from = resized.from.width,
          .box_begin = box.left,
          .box_size = box.width,
          .to = resized.to.width,
          .begin = resized.window.left,
          .size = resized.window.width,
          .flip = resized.flip,
          .resampling = resized.resampling};
}

ResizedLine column_of(const Resized& resized) {
  const ResizeBox box = box_of(resized);
  return {.from = resized.from.height,
          .box_begin = box.top,
          .box_size = box.height,
          .to = resized.to.height,
          .begin = resized.window.top,
          .size = resized.window.height,
          .flip = false,
          .resampling = resized.resampling};
}

void make(FilterTable& table, const ResizedLine& line) {
  if (table.line != line) table.make(line);
}

// The result in memory: of one plane with interleaved channels, or a plane for each channel.
struct Planes {
  Planes(const ImagePart& window, size_t channels, Layout layout)
      : count(layout == Layout::nchw && channels > 1 ? channels : 1),
        height(window.height),
        width(window.width * channels / count) {}

  size_t count;
  size_t height;
  size_t width;  // values of a row of a plane

  size_t values() const { return count * height * width; }
  // Where the first pass writes the next pixel and the next channel.
  size_t pixel(size_t channels) const { return count > 1 ? 1 : channels; }
  size_t channel(size_t rows) const { return count > 1 ? rows * width : 1; }
};

}  // namespace

std::string_view to_string(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
      return "nearest";
    case Interpolation::bilinear:
      return "bilinear";
    case Interpolation::bicubic:
      return "bicubic";
  }
  return {};
}

std::span<const ResizeImplementation> resize_implementations() { return kResizeImplementations; }

ImagePart Resized::source() const {
  check_resized(*this);
  FilterTable row;
  FilterTable column;
  row.make(row_of(*this));
  column.make(column_of(*this));
  check_pixels(column.source_size, window);
  return {column.source_begin, row.source_begin, column.source_size, row.source_size};
}

struct Resizer::State {
  const ResizeImplementation& implementation;
  FilterTable row = {};
  FilterTable column = {};
  std::vector<uint8_t> rows = {};  // the result of the first pass
  std::vector<uint8_t> image = {};
  std::vector<float> float_rows = {};
  std::vector<float> float_image = {};

  // Makes the filters. Throws Error for another number of values in the part.
  void prepare(size_t part_values, size_t channels, const Resized& resized) {
    check_resized(resized);
    if (channels < 1 || channels > 4) refuse(std::to_string(channels) + " channels, not 1 to 4");
    make(row, row_of(resized));
    make(column, column_of(resized));
    const size_t height = column.source_size;
    const size_t expected = height * row.source_size * channels;
    if (part_values != expected) {
      refuse("a part of " + std::to_string(part_values) + " values where " +
             std::to_string(expected) + " were expected");
    }
    check_pixels(height, resized.window);
  }

  // `between`: memory for the result of the first pass, `result` for that of the second.
  template <class From, class To>
  std::span<const To> resize(std::span<const From> part, size_t channels, const Resized& resized,
                             Layout layout, void (*resize_rows)(const ResizePass<From, To>&),
                             void (*resize_columns)(const ResizePass<To, To>&),
                             std::vector<To>& between, std::vector<To>& result) {
    prepare(part.size(), channels, resized);
    const Planes planes(resized.window, channels, layout);
    const size_t height = column.source_size;
    between.resize(planes.count * height * planes.width + internal::kResizeSlack);
    result.resize(planes.values() + internal::kResizeSlack);
    resize_rows({.filter = row,
                 .from = part.data(),
                 .row_values = row.source_size * channels,
                 .to = between.data(),
                 .rows = height,
                 .channels = channels,
                 .to_row = planes.width,
                 .to_pixel = planes.pixel(channels),
                 .to_channel = planes.channel(height)});
    for (size_t plane = 0; plane < planes.count; ++plane) {
      resize_columns({.filter = column,
                      .from = between.data() + plane * height * planes.width,
                      .row_values = planes.width,
                      .to = result.data() + plane * planes.height * planes.width});
    }
    return std::span(result).first(planes.values());
  }

  template <class From>
  std::span<const float> to_floats(std::span<const From> part, size_t channels,
                                   const Resized& resized, Layout layout,
                                   void (*resize_rows)(const ResizePass<From, float>&)) {
    return resize(part, channels, resized, layout, resize_rows, implementation.float_columns,
                  float_rows, float_image);
  }
};

Resizer::Resizer(const ResizeImplementation& implementation)
    : state_(new State{.implementation = implementation}) {}
Resizer::Resizer(Resizer&&) noexcept = default;
Resizer& Resizer::operator=(Resizer&&) noexcept = default;
Resizer::~Resizer() = default;

std::span<const uint8_t> Resizer::resize(std::span<const uint8_t> part, size_t channels,
                                         const Resized& resized, Layout layout) {
  const ResizeImplementation& loops = state_->implementation;
  return state_->resize(part, channels, resized, layout, loops.resize_rows, loops.resize_columns,
                        state_->rows, state_->image);
}

std::span<const float> Resizer::resize_to_floats(std::span<const uint8_t> part, size_t channels,
                                                 const Resized& resized, Layout layout) {
  return state_->to_floats(part, channels, resized, layout, state_->implementation.float_rows8);
}

std::span<const float> Resizer::resize_to_floats(std::span<const uint16_t> part, size_t channels,
                                                 const Resized& resized, Layout layout) {
  return state_->to_floats(part, channels, resized, layout, state_->implementation.float_rows16);
}

}  // namespace recordpipe
