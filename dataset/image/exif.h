// The orientation that EXIF gives an image, and the turning of decoded images.
#pragma once

#include <cstddef>
#include <span>

#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/image_size.h"

namespace recordpipe {

// Returns 1 to 8; 1 also if the file has no orientation, or anything about it is wrong. The file is
// untrusted; at most its segments or chunks before the pixels are looked at.
int exif_orientation(std::span<const std::byte> file, ImageFileFormat format);

// Turns a stored image upright. Pixel (y, x) of the upright image is stored pixel (y, x), or (x, y)
// if `transposes`, counted from the other end where rows or columns are reversed.
struct Turn {
  // `orientation`: 1 to 8.
  explicit Turn(int orientation)
      : transposes(orientation >= 5),
        reverses_rows(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7),
        reverses_columns(orientation == 2 || orientation == 3 || orientation == 7 ||
                         orientation == 8) {}

  bool transposes;
  bool reverses_rows;     // of the stored image
  bool reverses_columns;  // of the stored image

  // Whether the upright image's first row, or column, is at an end of the stored image's rows or
  // columns.
  bool starts_at_bottom() const { return transposes ? reverses_columns : reverses_rows; }
  bool starts_at_right() const { return transposes ? reverses_rows : reverses_columns; }

  // Returns the part of the stored image, of this size, that becomes `upright`.
  ImagePart stored(const ImagePart& upright, const ImageSize& size) const;
  void apply(const DecodedImage& stored, DecodedImage& upright) const;
};

}  // namespace recordpipe
