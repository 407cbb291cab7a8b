// The next files of tfrecord_files, opened on the pool's threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "dataset/pipeline/engine/file_fingerprints.h"
#include "dataset/pipeline/engine/worker_pool.h"
#include "recordpipe/record_reader.h"

namespace recordpipe::internal {

struct OpenRecordFile {
  MappedRecordFile file;
  FileFingerprint fingerprint;
};

// Opening a cold file waits for the disk once for each part of it that has headers. While one file
// is planned the next ones are opened here, several at a time. What can't be opened is left to the
// planning thread, which does it again at that file's place: so errors don't depend on the time.
class OpenAhead final : public WorkQueue, public std::enable_shared_from_this<OpenAhead> {
 public:
  // Opens file `number`, on any thread. What it throws is dropped.
  using Open = std::function<OpenRecordFile(size_t number, const std::stop_token& stop)>;

  OpenAhead(std::shared_ptr<WorkerPool> pool, Open open)
      : pool_(std::move(pool)), open_(std::move(open)) {}

  // The files that come next, in their order; all others are dropped.
  void want(std::span<const size_t> numbers);
  // The file, if it was opened or is just being opened: then this waits for it.
  std::optional<OpenRecordFile> take(size_t number);
  // Drops all. When this returns no file is being opened any more, nor will be.
  void stop();

  void work() override;

 private:
  enum class Progress { waiting, opening, done };
  struct File {
    Progress progress = Progress::waiting;
    std::optional<OpenRecordFile> opened = {};  // nothing once done: it can't be
  };

  const std::shared_ptr<WorkerPool> pool_;
  const Open open_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable opened_;
  std::map<size_t, File> files_;
  size_t opening_ = 0;
};

}  // namespace recordpipe::internal
