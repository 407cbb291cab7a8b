// What tfrecord_files consists of: its plan, and what opens its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/pipeline/operators/sources/open_ahead.h"
#include "dataset/pipeline/operators/sources/record_producer.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/io/started_source.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe::internal {

// The files of a plan. Thread-safe.
struct RecordFiles {
  FileSystem& file_system;
  const std::vector<std::string>& paths;
  const std::vector<uint64_t>& counts;  // the number of records of each file, or empty
  const RecordReadOptions options;
  const DamageOptions damage;
  const StageContext context;
  const std::shared_ptr<OpenedRecords> opened;  // shared with the work

  // Whether a file can be mapped, as far as can be told without opening it: opening a FIFO and
  // closing it again would end its writer.
  bool is_mappable(size_t number) const;
  // Finds the records of a file.
  OpenRecordFilePtr find_records(size_t number, std::shared_ptr<const RandomAccessFile> file) const;
};

// A file with random access that is opened ahead.
struct RecordFileAhead {
  void open() {
    was_begun = true;
    opened = function();
  }
  uint64_t mapped_bytes() const { return opened ? opened->file.bytes().size() : 0; }

  const std::function<OpenRecordFilePtr()> function;
  OpenRecordFilePtr opened = {};
  bool was_begun = false;
};

// Opens the files that are mapped, ahead on the threads of the pass.
class MappedOpener {
 public:
  explicit MappedOpener(const RecordFiles& files);
  ~MappedOpener();
  MappedOpener(const MappedOpener&) = delete;
  MappedOpener& operator=(const MappedOpener&) = delete;

  OpenRecordFilePtr open(size_t number) const;
  // Null if the file was not opened ahead.
  OpenRecordFilePtr take(size_t number);
  // Begins to open the files from `first` on that are needed next.
  void open_ahead(size_t first);

 private:
  const RecordFiles& files_;
  std::shared_ptr<OpenAhead<RecordFileAhead>> ahead_;  // null: no other thread, or only one file
};

// Opens files for random access at a distance, which are read by ranges. Opening one waits for
// several answers in turn.
class RangeOpener {
 public:
  explicit RangeOpener(const RecordFiles& files);
  ~RangeOpener() { ahead_->stop(); }
  RangeOpener(const RangeOpener&) = delete;
  RangeOpener& operator=(const RangeOpener&) = delete;

  // Throws an error that says why the file has no random access.
  OpenRecordFilePtr open(size_t number) const;
  OpenRecordFilePtr take(size_t number);
  void open_ahead(size_t first);

 private:
  OpenRecordFilePtr read(size_t number) const;

  const RecordFiles& files_;
  size_t end_ = 0;  // behind the last file that was opened ahead
  const std::shared_ptr<OpenAhead<RecordFileAhead>> ahead_;
};

// Opens the files that are read as streams. Opening a remote one waits for the network, so many are
// opened at a time: 64 small files take as long as one. The file that is needed is read ahead
// (ByteSource::prefetch), and then the next few, so that reading doesn't pause between files.
// Meanwhile, the fingerprints of this file and of the next one are computed: for more files, that
// would be hundreds of small requests before the first data.
class StreamOpener {
 public:
  explicit StreamOpener(const RecordFiles& files);
  ~StreamOpener() { ahead_->stop(); }
  StreamOpener(const StreamOpener&) = delete;
  StreamOpener& operator=(const StreamOpener&) = delete;

  // Opens the file, and tells the fingerprints. Begins to open those that follow it.
  std::unique_ptr<ByteSource> open(size_t number);

 private:
  class File;

  std::unique_ptr<StartedSource> start_source(const std::string& path) const;
  std::unique_ptr<ByteSource> open_source(const std::string& path,
                                          std::unique_ptr<StartedSource> started) const;

  const RecordFiles& files_;
  // The most bytes that all streams together hold: one half for the first ranges of those that are
  // open, the other for the rest of the next ones. Empty: as the file system does by itself.
  std::optional<uint64_t> read_ahead_;
  StartingFileSystem* const starting_;  // null: opening a file needs a thread
  const std::shared_ptr<OpenAhead<File>> ahead_;
};

// What `files` refers to must outlive the plan.
std::unique_ptr<Plan> make_record_plan(RecordFiles files);
// The number of records of all files; keeps no file open.
uint64_t count_records(RecordFiles files);

// Whether a file that can't be mapped for this reason can be read as a stream.
inline bool is_for_stream(ErrorKind kind) {
  return kind == ErrorKind::unsupported || kind == ErrorKind::truncated ||
         kind == ErrorKind::corrupted;
}

[[noreturn]] void refuse_random_access(const std::string& path, const std::string& why,
                                       const std::string& hint);

}  // namespace recordpipe::internal
