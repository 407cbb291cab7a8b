#include "recordpipe/image/resize.h"

#include <array>
#include <string>

#include "dataset/image/filter_table.h"
#include "dataset/image/resize_implementations.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

using internal::FilterTable;
using internal::ResizedLine;
using internal::ResizePass;

constexpr std::array<ResizeImplementation, 2> kImplementations = {{
    {"portable", internal::resize_rows_portable, internal::resize_columns_portable},
    {"highway", internal::resize_rows_highway, internal::resize_columns_highway},
}};

// The most values between the passes: 256 MiB. A tall image that becomes wide would take any
// memory.
constexpr size_t kMaxRows = size_t{1} << 28;

[[noreturn]] void refuse(std::string reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = "resize: " + std::move(reason)});
}

std::string text(size_t height, size_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

void check(const Resized& resized) {
  for (const ImageSize& size : {resized.from, resized.to}) {
    if (size.height < 1 || size.width < 1 || size.height > kMaxResizedSide ||
        size.width > kMaxResizedSide) {
      refuse("a size of " + text(size.height, size.width) + " pixels; a side has 1 to " +
             std::to_string(kMaxResizedSide));
    }
  }
  if (!resized.window.is_inside(resized.to)) {
    refuse("a window of " + text(resized.window.height, resized.window.width) + " pixels at " +
           std::to_string(resized.window.top) + ", " + std::to_string(resized.window.left) +
           " is not inside of " + text(resized.to.height, resized.to.width));
  }
}

ResizedLine row_of(const Resized& resized) {
  return {resized.from.width,   resized.to.width, resized.window.left,
          resized.window.width, resized.flip,     resized.resampling};
}

ResizedLine column_of(const Resized& resized) {
  return {resized.from.height, resized.to.height, resized.window.top, resized.window.height, false,
          resized.resampling};
}

void make(FilterTable& table, const ResizedLine& line) {
  if (table.line != line) table.make(line);
}

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

std::span<const ResizeImplementation> resize_implementations() { return kImplementations; }

ImagePart Resized::source() const {
  check(*this);
  FilterTable row;
  FilterTable column;
  row.make(row_of(*this));
  column.make(column_of(*this));
  return {column.source_begin, row.source_begin, column.source_size, row.source_size};
}

struct Resizer::State {
  const ResizeImplementation& implementation;
  FilterTable row = {};
  FilterTable column = {};
  std::vector<uint8_t> rows = {};  // the result of the first pass
  std::vector<uint8_t> image = {};
};

Resizer::Resizer(const ResizeImplementation& implementation)
    : state_(new State{.implementation = implementation}) {}
Resizer::Resizer(Resizer&&) noexcept = default;
Resizer& Resizer::operator=(Resizer&&) noexcept = default;
Resizer::~Resizer() = default;

std::span<const uint8_t> Resizer::resize(std::span<const uint8_t> part, size_t channels,
                                         const Resized& resized, Layout layout) {
  check(resized);
  if (channels < 1 || channels > 4) refuse(std::to_string(channels) + " channels, not 1 to 4");
  State& state = *state_;
  make(state.row, row_of(resized));
  make(state.column, column_of(resized));
  const size_t rows = state.column.source_size;
  const size_t row_bytes = state.row.source_size * channels;
  if (part.size() != rows * row_bytes) {
    refuse("a part of " + std::to_string(part.size()) + " bytes where " +
           std::to_string(rows * row_bytes) + " were expected");
  }
  const ImagePart& window = resized.window;
  if (rows * window.width * channels > kMaxRows) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "resize: " + std::to_string(rows) + " rows of " +
                           std::to_string(window.width) + " pixels are too many"});
  }
  const bool is_planar = layout == Layout::nchw && channels > 1;
  const size_t planes = is_planar ? channels : 1;
  const size_t width = window.width * channels / planes;  // values of a row of a plane
  state.rows.resize(planes * rows * width + internal::kResizeSlack);
  state.image.resize(planes * window.height * width + internal::kResizeSlack);
  state.implementation.resize_rows({.filter = state.row,
                                    .from = part.data(),
                                    .row_bytes = row_bytes,
                                    .to = state.rows.data(),
                                    .rows = rows,
                                    .channels = channels,
                                    .to_row = width,
                                    .to_pixel = is_planar ? 1 : channels,
                                    .to_channel = is_planar ? rows * width : 1});
  for (size_t plane = 0; plane < planes; ++plane) {
    state.implementation.resize_columns({.filter = state.column,
                                         .from = state.rows.data() + plane * rows * width,
                                         .row_bytes = width,
                                         .to = state.image.data() + plane * window.height * width});
  }
  return std::span(state.image).first(planes * window.height * width);
}

}  // namespace recordpipe
