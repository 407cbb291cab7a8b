// Makes Examples of NumPy's arrays: row i of every array is record i, a feature named as the array.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/toolkit/npz.h"

namespace recordpipe {

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
