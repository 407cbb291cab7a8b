// Reads and writes the file of cache(path), a TFRecord file:
//
//   first record   the cache's identity: "recordpipe cache 1\n", the type of the elements and the
//                  codec's name ("int32 as 4 bytes"), a zero byte, and the pipeline and its files
//                  as in a saved iterator (iterator_state.h), with all files compared by content
//   elements       epoch and index of the element's id, 8 bytes each, little-endian, and the output
//                  of the codec
//   last record    "recordpipe cache end\n", the number of elements, 8 bytes, little-endian, and
//                  for each file that the inputs of interleave and flat_map have read through the
//                  cache's own FileSystem: the fingerprint of its content and the length of its
//                  path, 8 bytes each, and the path. URLs with a user name, password or query are
//                  omitted: these parts may be secrets, and without them the file can't be read
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/pipeline/observe/plan_description.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe::internal {

// The identity of a cache's content.
struct CacheIdentity {
  std::string elements;  // the type of the elements, and the codec
  PlanDescription plan;
};

// Reads a complete cache file. Thread-safe.
class CacheReader {
 public:
  // Throws Error{invalid_argument}, naming the difference, for a cache that was made from other
  // input, and Error{corrupted} for a file that is damaged or not a cache. Files that inputs have
  // read are compared if they still exist under their paths.
  CacheReader(FileSystem& file_system, const std::string& path, const CacheIdentity& identity);

  uint64_t size() const { return file_.size() - 2; }
  // The id of element i < size(), without a CRC check.
  ElementId id(uint64_t i) const;
  // Reads the element's bytes with a CRC check; throws Error{corrupted}.
  Record read(uint64_t i) const;

 private:
  MappedRecordFile file_;
};

// Writes a cache file, which appears at finish(). If the writer is destroyed before, no file is
// left.
class CacheWriter {
 public:
  // Throws Error{busy} if another process or iterator is writing the file.
  CacheWriter(FileSystem& file_system, const std::string& path, const CacheIdentity& identity);

  // `encode(std::string&)` appends the element's bytes.
  template <class Encode>
  void add(const ElementId& id, const Encode& encode) {
    start(id);
    encode(bytes_);
    write();
  }
  // `files`: all files that were opened to compute the elements.
  void finish(const FileFingerprints& files);

 private:
  void start(const ElementId& id);
  void write();

  FileSystem& file_system_;
  const std::vector<SourceFile> sources_;
  RecordWriter writer_;
  std::string bytes_;
  uint64_t elements_ = 0;
};

}  // namespace recordpipe::internal
