// Random access to the records of plain files: dataset[i].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "python/native/dataset/parse_spec.h"
#include "python/native/files/python_file_system.h"
#include "python/native/iterate/lease.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/tfds/splits.h"

namespace recordpipe::python {

namespace nb = nanobind;

// The files stay open, and mapped if they are on this machine. Thread-safe: all functions are
// called with the GIL, and release it while they read.
class RecordFiles {
 public:
  // Opens all files, and reads their indexes or headers. Throws Error{unsupported} for a compressed
  // file.
  RecordFiles(SharedFiles files, const std::vector<std::string>& paths,
              const RecordReadOptions& options);

  // The records of the ranges, in order. Throws Error{corrupted} for a file with another number of
  // records.
  RecordFiles(const std::vector<tfds::FileRange>& ranges, const RecordReadOptions& options);

  RecordFiles(const RecordFiles&) = delete;
  RecordFiles& operator=(const RecordFiles&) = delete;

  uint64_t size() const { return first_records_.back(); }
  // Pairs of a path and its number of records.
  nb::list files() const;
  // Indexes must be less than size().
  nb::bytes get(uint64_t index) const;
  nb::list get_many(const std::vector<uint64_t>& indexes) const;
  // Parses the records into one batch.
  nb::object parse_many(const std::vector<uint64_t>& indexes, const ParseSpec& spec,
                        bool single) const;

 private:
  struct Place {
    const MappedRecordFile* file;
    size_t record;
  };
  Place place(uint64_t index) const;
  void require_kept() const;  // by writes in progress (dataset_files.h)
  std::vector<Record> read_many(const std::vector<uint64_t>& indexes) const;

  const SharedFiles file_system_ = {};  // null: that of this machine
  std::vector<MappedRecordFile> files_;
  std::vector<uint64_t> skipped_;              // records of each file
  std::vector<uint64_t> first_records_ = {0};  // of each file; at the end, the number of records
  mutable uint64_t checked_write_ = 0;         // with the GIL
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
};

}  // namespace recordpipe::python
