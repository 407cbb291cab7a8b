// Opens the next files of tfrecord_files in advance that are read over the network as streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "dataset/parallel/jobs.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/io/file.h"

namespace recordpipe::internal {

// Opening a remote file waits for the network, so many files are opened at a time: 64 small files
// take as long as one. The file that is opened is read ahead (ByteSource::prefetch), and then the
// next few, so that reading doesn't pause between files. Meanwhile, the fingerprints of this file
// and of the next one are computed: for more files, that would be hundreds of small requests before
// the first data. Not thread-safe.
class StreamsAhead {
 public:
  static constexpr size_t kOpened = 64;
  static constexpr size_t kPrefetched = 4;

  // What a stream holds when it is open: the first range of an object.
  static constexpr uint64_t kFirstBytes = uint64_t{512} << 10;

  // `read_ahead`: the most bytes that all streams together hold: one half for the first ranges of
  // those that are open, the other for the rest of the next ones. Empty: as the file system does by
  // itself.
  StreamsAhead(FileSystem& file_system, std::shared_ptr<FileFingerprints> fingerprints,
               std::optional<uint64_t> read_ahead)
      : file_system_(file_system),
        fingerprints_(std::move(fingerprints)),
        read_ahead_(read_ahead) {}
  // Waits for the files that are being opened.
  ~StreamsAhead() = default;
  StreamsAhead(const StreamsAhead&) = delete;
  StreamsAhead& operator=(const StreamsAhead&) = delete;

  // Opens `path`, tells the fingerprints, and begins to open the files of `next`, which will be
  // needed in this order. Files that were opened for an earlier `next` and come before `path` are
  // closed. A file that could not be opened in advance is opened again.
  std::unique_ptr<ByteSource> open(const std::string& path, std::span<const std::string> next);

 private:
  // Shared by the reader and the threads that open the file.
  struct Opening {
    void prefetch();

    std::mutex mutex;
    std::unique_ptr<ByteSource> source;
    std::unique_ptr<RandomAccessFile> random;  // of the source; null if it has none
    bool is_wanted = false;                    // must be read ahead
    std::optional<FileFingerprint> fingerprint;
  };
  struct File {
    std::string path;
    std::shared_ptr<Opening> opening;
    bool is_known = false;         // its fingerprint is
    parallel::Job<void> opened;    // when done, the source is there, or opening it has failed
    parallel::Job<void> examined;  // not valid: not begun
  };

  size_t most_opened() const;
  void begin(const std::string& path);
  std::unique_ptr<ByteSource> open_now(const std::string& path) const;
  // Begins to compute the fingerprint.
  void examine(File& file);

  FileSystem& file_system_;
  const std::shared_ptr<FileFingerprints> fingerprints_;
  const std::optional<uint64_t> read_ahead_;
  std::deque<File> files_;
  parallel::Jobs jobs_{2 * kOpened, parallel::CrewKind::waits};  // last: waits for its jobs
};

}  // namespace recordpipe::internal
