// Reads NumPy files as records, and writes .npz files.
//
// Supports .npy files of versions 1.0 to 3.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) with arrays of numbers,
// booleans and strings. The header is parsed, never evaluated as Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/example/internal/feature_writer.h"
#include "recordpipe/io/file.h"
#include "recordpipe/io/temporary_file.h"

namespace recordpipe {

struct NpyHeader {
  char kind = 'u';       // u, i, f, b (bool), S (bytes), U (text)
  size_t item_size = 1;  // in bytes; U: 4 bytes per character
  bool big_endian = false;
  std::vector<uint64_t> shape = {};  // in C (row-major) order
  size_t data_begin = 0;             // file offset of the values

  uint64_t rows() const { return shape.front(); }
  // The number of values per row: the product of all dimensions except the first.
  uint64_t row_values() const;
  uint64_t row_bytes() const { return row_values() * item_size; }
};

// The maximum number of bytes that parse_npy_header may need.
inline constexpr size_t kMaxNpyHeader = size_t{64} << 10;

// Parses the header of an .npy file. `file` is the file's first kMaxNpyHeader bytes, or the whole
// file if it is shorter. Throws Error{corrupted} if it is not an .npy file. Throws
// Error{unsupported} for dtypes object, structured, complex and datetime, for Fortran order, for
// 0-dimensional arrays, and for more than 2^20 rows of 0 bytes.
NpyHeader parse_npy_header(std::span<const std::byte> file);

// Converts one row to a serialised Feature: integers and booleans to int64_list; floats to
// float_list (float64 is rounded to float32); strings to bytes_list, without trailing NULs. A uint8
// row with more than one dimension is an image: one bytes value. Throws Error{corrupted} for an
// unsigned integer >= 2^63 and for text that is not valid Unicode; Error{unsupported} for a float64
// out of the range of float32: it would become an infinity or, if it is not 0, 0.
std::string npy_row_feature(const NpyHeader& header, std::span<const std::byte> row);

// Returns the .npy header of an array in C (row-major) order. `type` is NumPy's type string, for
// example "<i8". The header's size is a multiple of 64 bytes.
std::string npy_header_text(const std::string& type, std::span<const uint64_t> shape);

// .npz files are zip archives of .npy files. Reads stored and deflated members; writes stored
// members.
struct NpzArray {
  std::string name = {};  // the member's name without ".npy"
  NpyHeader header = {};
  // Has the rows, one after another, from `begin` on. All arrays share it.
  std::shared_ptr<TemporaryFile> values = {};
  uint64_t begin = 0;
};

struct NumpyReadOptions {
  std::string temporary_directory = "/tmp";  // for the inflated arrays of .npz files
  std::stop_token stop = {};                 // when requested, reading throws Error{cancelled}
  std::function<void(uint64_t bytes)> on_read = {};  // called with the number of bytes just read
};

// Reads all arrays of an .npz file, inflated to a temporary file. Member names are never used as
// paths. Throws Error with "PATH:MEMBER": the errors of parse_npy_header(); truncated or corrupted
// if a member's size differs from the size in its header; corrupted for a damaged zip file and for
// a duplicate member name; cancelled; the errors of reading.
std::vector<NpzArray> read_npz(std::unique_ptr<RandomAccessFile> file,
                               const NumpyReadOptions& options = {});
// The same for a source that supports sequential reads only.
std::vector<NpzArray> read_npz(std::unique_ptr<ByteSource> source,
                               const NumpyReadOptions& options = {});

// Writes an .npz file. Members have no modification time, so the same arrays give the same bytes.
// Files above 4 GiB use zip64.
class NpzWriter {
 public:
  // Writes to `sink` (not owned). Doesn't close it.
  explicit NpzWriter(ByteSink& sink);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  // Begins the member `name`.npy, which is `size` bytes long; write() fills it.
  void begin(const std::string& name, uint64_t size);
  void write(std::span<const std::byte> data);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Conversion of NumPy arrays to Examples: row i of each array becomes a feature of record i. The
// feature has the array's name.

// The arrays of one file; all have the same number of rows.
class NumpyRows {
 public:
  virtual ~NumpyRows() = default;

  // The path in error messages.
  virtual const std::string& path() const = 0;
  virtual uint64_t count() const = 0;
  // Returns row i as a serialised Example. Not cached, because a row may be very large. Throws the
  // errors of npy_row_feature() and of reading, with the row's number.
  std::string example(uint64_t i);

 private:
  virtual SerializedFeatures row(uint64_t i) = 0;
};

// Opens an .npy file; `name` is the name of the feature. Throws the errors of parse_npy_header(),
// and Error{truncated} or Error{corrupted} if the file's size differs from the size in its header.
std::unique_ptr<NumpyRows> open_npy(std::unique_ptr<RandomAccessFile> file, const std::string& name,
                                    const NumpyReadOptions& options = {});
// Opens an .npz file. Throws the errors of read_npz(), and Error{corrupted} if the arrays have
// different numbers of rows.
std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<RandomAccessFile> file,
                                    const NumpyReadOptions& options = {});
std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<ByteSource> source,
                                    const NumpyReadOptions& options = {});

}  // namespace recordpipe
