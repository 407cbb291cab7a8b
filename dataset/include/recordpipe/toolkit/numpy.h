// NumPy's files as records. First .npy files, versions 1.0 to 3.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): the header matched, not
// evaluated; arrays of numbers, booleans and strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/temporary_file.h"

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

// NumPy's .npz files: zip archives of .npy files, read stored or deflated, written stored.
struct NpzArray {
  std::string name = {};  // the member's, without ".npy"
  NpyHeader header = {};
  TemporaryFile values;  // row after row
};

struct NumpyReadOptions {
  std::string temporary_directory = "/tmp";  // where the arrays of .npz files are inflated to
  std::stop_token stop = {};                 // a stop ends reading with Error{cancelled}
  std::function<void(uint64_t bytes)> on_read = {};  // is told how many bytes more were read
};

// All arrays of an .npz file, inflated to temporary files. Member names are never used as paths.
// Throws Error with "PATH:MEMBER": what parse_npy_header() throws, truncated and corrupted for a
// member that is not as long as its header says, corrupted for a damaged zip file and for a name
// that comes twice; cancelled; what reading throws.
std::vector<NpzArray> read_npz(std::unique_ptr<RandomAccessFile> file,
                               const NumpyReadOptions& options = {});
// The same from a source that can only be read in order.
std::vector<NpzArray> read_npz(std::unique_ptr<ByteSource> source,
                               const NumpyReadOptions& options = {});

// Members have no time, so that the same arrays give the same bytes; beyond 4 GiB zip64 is written.
class NpzWriter {
 public:
  // Writes into `sink` (not owned), and leaves it open.
  explicit NpzWriter(ByteSink& sink);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  // Begins the member `name`.npy, `size` bytes long; write() fills it.
  void begin(const std::string& name, uint64_t size);
  void write(std::span<const std::byte> data);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes Examples of NumPy's arrays: row i of every array is record i, a feature named as the array.

// The arrays of one file, whose rows go together.
class NumpyRows {
 public:
  virtual ~NumpyRows() = default;

  // What messages call it.
  virtual const std::string& path() const = 0;
  virtual uint64_t count() const = 0;
  // Row i as a serialised Example. Nothing of it is kept: a row may be the largest thing in memory.
  // Throws what npy_row_feature() and reading throw, with the row's number.
  std::string example(uint64_t i);

 private:
  virtual SerializedFeatures row(uint64_t i) = 0;
};

// An .npy file; `name` is the feature's. Throws what parse_npy_header() throws, and
// Error{truncated} or Error{corrupted} where the file is not as long as its header says.
std::unique_ptr<NumpyRows> open_npy(std::unique_ptr<RandomAccessFile> file, const std::string& name,
                                    const NumpyReadOptions& options = {});
// Throw what read_npz() throws, and Error{corrupted} for arrays with different numbers of rows.
std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<RandomAccessFile> file,
                                    const NumpyReadOptions& options = {});
std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<ByteSource> source,
                                    const NumpyReadOptions& options = {});

}  // namespace recordpipe
