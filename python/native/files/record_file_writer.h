// Writes one TFRecord file, and its index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include <nanobind/nanobind.h>

#include "python/native/files/python_file_system.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns the serialised Example of a dict of values (recordpipe/writer.py says which). Needs the
// GIL.
std::string encode_example(const nb::dict& features);

// The files appear whole at close(), or not at all. Calls of several threads take turns, because
// write() runs without the GIL.
class RecordFileWriter {
 public:
  RecordFileWriter(SharedFiles files, const std::string& path, const RecordWriteOptions& options,
                   bool index);

  void write(std::span<const std::byte> record);
  // Completes the files on disk, not yet under their names. Nothing may be written after it.
  void finish();
  // finish(), then names the file and the index.
  void close();
  // Leaves no file behind. close() without abort() before it commits.
  void abort();
  uint64_t records() const { return records_; }

 private:
  void drop_files();

  struct Index {
    Index(FileSystem& files, const std::string& path) : file(files, path), writer(file) {}
    AtomicFile file;
    RecordIndexWriter writer;
  };

  const SharedFiles files_;
  std::mutex mutex_;
  std::optional<RecordWriter> writer_;
  std::unique_ptr<Index> index_;
  bool is_finished_ = false;
  uint64_t records_ = 0;
};

}  // namespace recordpipe::python
