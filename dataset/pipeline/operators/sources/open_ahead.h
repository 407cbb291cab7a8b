// Opens the next files of tfrecord_files in advance, on the crew's threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>

#include "dataset/parallel/crew.h"
#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe::internal {

// A file of tfrecord_files with random access: it is mapped, or read in ranges.
struct OpenRecordFile {
  OpenRecordFile(MappedRecordFile opened, const FileFingerprint& content,
                 std::shared_ptr<MemoryAccount> account)
      : file(std::move(opened)), fingerprint(content), index_memory(std::move(account)) {
    index_memory.set(file.size() * sizeof(uint64_t));
  }

  const MappedRecordFile file;
  const FileFingerprint fingerprint;
  MemoryCharge index_memory;  // 8 bytes for each record
};
using OpenRecordFilePtr = std::shared_ptr<const OpenRecordFile>;

// Opening a file that is not in the page cache waits for the disk once for each part that contains
// record headers. While one file is planned, this class opens the next files, several at a time. If
// a file can't be opened, the planning thread opens it again when the file's turn comes, so errors
// don't depend on timing.
class OpenAhead final : public parallel::Work, public std::enable_shared_from_this<OpenAhead> {
 public:
  // Opens file `number`, on any thread. Its exceptions are ignored.
  using Open = std::function<OpenRecordFilePtr(size_t number, const std::stop_token& stop)>;

  OpenAhead(std::shared_ptr<parallel::Crew> crew, Open open)
      : crew_(std::move(crew)), open_(std::move(open)) {}

  // Sets the files to open, lowest number first. Drops all other files except those being opened.
  void want(std::span<const size_t> numbers);
  // Returns the file; if it is being opened, waits until it is open. Null if opening has not begun
  // or has failed.
  OpenRecordFilePtr take(size_t number);
  // Drops all files. After stop() returns, no file is being opened, and none will be.
  void stop();

  void work() noexcept override;

 private:
  enum class Progress { waiting, opening, done };
  struct File {
    Progress progress = Progress::waiting;
    OpenRecordFilePtr opened = {};  // null when done: opening failed
  };

  std::shared_ptr<parallel::Crew> crew_;  // null after stop()
  const Open open_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable opened_;
  std::map<size_t, File> files_;
  size_t opening_ = 0;
  size_t visits_ = 0;  // calls of work() that were asked for and have not come
};

}  // namespace recordpipe::internal
