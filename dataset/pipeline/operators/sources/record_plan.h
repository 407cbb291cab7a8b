// What tfrecord_files consists of: its plan, and what opens its files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/parallel/open_ahead.h"
#include "dataset/pipeline/operators/sources/record_producer.h"
#include "dataset/pipeline/plan/plan.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "dataset/record/record_file_opening.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
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
};

enum class Access { sequential, random };

// Opens files for random access: those that are mapped, ahead on the threads of the pass; with
// Access::random, also those at a distance, which are read by ranges. A file at a distance waits
// for several responses in turn: each step of its opening sends the requests that the next one
// waits for, so a few threads open many files. Only walks over the headers have a thread each.
class RandomOpener {
 public:
  explicit RandomOpener(const RecordFiles& files);
  ~RandomOpener();
  RandomOpener(const RandomOpener&) = delete;
  RandomOpener& operator=(const RandomOpener&) = delete;

  // Null if the file must be read as a stream: it is compressed, not a regular file, on a file
  // system that can't map, or damaged (a stream yields the records before the damage, then the
  // error).
  OpenRecordFilePtr map_if_plain(size_t number);
  // Maps the file, or opens it to be read by ranges. Throws an error that says why it has no random
  // access.
  OpenRecordFilePtr open(size_t number);
  // Begins to open the files from `first` on that are needed next.
  void open_ahead(size_t first, Access access);

 private:
  class File;
  class MappedAhead;
  class RangesAhead;

  // Null if the file was not opened ahead.
  OpenRecordFilePtr take(size_t number);
  OpenRecordFilePtr map(size_t number) const;
  OpenRecordFilePtr find_records(size_t number, std::shared_ptr<const RandomAccessFile> file) const;
  OpenRecordFilePtr opened(size_t number, MappedRecordFile records,
                           const RandomAccessFile& file) const;
  bool is_distant(size_t number) const;

  const RecordFiles& files_;
  OpeningCrews crews_;
  std::atomic<uint64_t> mapped_bytes_ = 0;  // of the files that are open ahead
  size_t distant_end_ = 0;                  // behind the last one that was opened ahead
  parallel::OpenAhead<File> ahead_;
};

// Opens the files that are read as streams. Opening a remote one waits for the network, so many are
// opened at a time: 64 small files take as long as one. The file that is needed is read ahead
// (ByteSource::prefetch), and then the next few, so that reading doesn't pause between files.
// Meanwhile, the fingerprints of this file and of the next one are computed: for more files, that
// would be hundreds of small requests before the first data.
class StreamOpener {
 public:
  explicit StreamOpener(const RecordFiles& files);
  ~StreamOpener();
  StreamOpener(const StreamOpener&) = delete;
  StreamOpener& operator=(const StreamOpener&) = delete;

  // Opens the file, and tells the fingerprints. Begins to open those that follow it.
  std::unique_ptr<ByteSource> open(size_t number);

 private:
  class File;

  const RecordFiles& files_;
  // The most bytes that all streams together hold: one half for the first ranges of those that are
  // open, the other for the rest of the next ones. Empty: as the file system does by itself.
  std::optional<uint64_t> read_ahead_;
  mutable parallel::Crew crew_;
  parallel::OpenAhead<File> ahead_;
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
