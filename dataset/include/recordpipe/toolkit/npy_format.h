// NumPy's .npy files, versions 1.0 to 3.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): the header matched, not
// evaluated; arrays of numbers, booleans and strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recordpipe {

struct NpyHeader {
  char kind = 'u';       // u, i, f, b (bool), S (bytes), U (text)
  size_t item_size = 1;  // in bytes; U: 4 for each character
  bool big_endian = false;
  std::vector<uint64_t> shape = {};  // row-major
  size_t data_begin = 0;             // where the values start in the file

  uint64_t rows() const { return shape.front(); }
  // Of one row: all dimensions but the first.
  uint64_t row_values() const;
  uint64_t row_bytes() const { return row_values() * item_size; }
};

// How much of a file's start parse_npy_header may ask for.
inline constexpr size_t kMaxNpyHeader = size_t{64} << 10;

// Of an array at the start of `file`, its first kMaxNpyHeader bytes or all there are. Throws
// Error{corrupted} for what is no such file, Error{unsupported} for arrays of objects, structures,
// complex numbers, dates, those in Fortran's order, those without a dimension, and for more than
// 2^20 rows without a byte.
NpyHeader parse_npy_header(std::span<const std::byte> file);

// One row as a serialised Feature: integers and booleans as int64s, floats as floats (those of 64
// bits rounded), strings as bytes, without the NULs behind them. uint8 with more than one dimension
// a row is an image: all of it one value. Throws Error{corrupted} for an unsigned integer of 2^63
// and more, and for text that is not valid Unicode; Error{unsupported} for a number beyond all
// floats.
std::string npy_row_feature(const NpyHeader& header, std::span<const std::byte> row);

// The header of an array in row-major order; `type` as NumPy writes it: "<i8". A multiple of 64
// bytes.
std::string npy_header_text(const std::string& type, std::span<const uint64_t> shape);

}  // namespace recordpipe
