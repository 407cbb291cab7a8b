// NumPy's .npz files: zip archives of .npy files, read stored or deflated, written stored.
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
#include "recordpipe/temporary_file.h"
#include "recordpipe/toolkit/npy_format.h"

namespace recordpipe {

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

}  // namespace recordpipe
