// Reads the records of many files, one file after the other, as a single stream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// The next files are opened ahead, and decompressed up to 1 MiB each, on other threads: as many as
// `threads`, at most 16, or 32 objects of an object store. Streams are opened at their turn.
class RecordsOfFiles {
 public:
  // `work` and `paths` must outlive this object.
  RecordsOfFiles(const FileWork& work, const std::vector<std::string>& paths,
                 const RecordReadOptions& reading, size_t threads);
  ~RecordsOfFiles();
  RecordsOfFiles(const RecordsOfFiles&) = delete;
  RecordsOfFiles& operator=(const RecordsOfFiles&) = delete;

  // Returns the next record; its data is valid until the next call, its path as long as this
  // object. Throws the errors of opening and reading the file that is next, after all records
  // before it.
  std::optional<Record> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
