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

// Beside Elements, for plain files. Datasets of the same files share them, open, and so do
// processes made by fork(), without reading indexes or headers again: nothing changes that another
// thread might hold locked. Rows are parsed by batches. Files that are not on this machine are
// opened many at a time, the others are mapped. Thread-safe: all functions are called with the GIL,
// and release it while they read.
class RecordFiles {
 public:
  // Opens all files, and reads their indexes or headers. `ranges`: of each file, or none: all
  // records. Throws Error{unsupported} for a compressed file, and Error{corrupted} for one with
  // another number of records than its range has.
  RecordFiles(SharedFiles files, const std::vector<std::string>& paths,
              const RecordReadOptions& options, const std::vector<tfds::FileRange>& ranges = {});

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
  void add(MappedRecordFile file, const tfds::FileRange& range);
  Place place(uint64_t index) const;
  void require_kept() const;  // by writes in progress (dataset_files.h)
  std::vector<Record> read_many(const std::vector<uint64_t>& indexes) const;

  const SharedFiles file_system_;
  std::vector<MappedRecordFile> files_;
  std::vector<uint64_t> skipped_;              // records at the beginning of each file
  std::vector<uint64_t> first_records_ = {0};  // of each file; at the end, the number of records
  mutable uint64_t checked_write_ = 0;         // with the GIL
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
};

}  // namespace recordpipe::python
