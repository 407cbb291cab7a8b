// Opens a record file at a distance in steps, so that a few threads can open many.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "dataset/parallel/crew.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// The most files that should be opened at a time.
inline constexpr size_t kOpenedAtOnce = 128;

// Made when they are needed: a pass over files on this machine needs none. Thread-safe.
class OpeningCrews {
 public:
  // For steps that wait for responses. One that is retried doesn't hold up others.
  parallel::Crew& waiting() { return waiting_.made(16); }
  // For walks over headers, which may be one request for each.
  parallel::Crew& walking() { return walking_.made(kOpenedAtOnce); }

 private:
  struct Lazy {
    parallel::Crew& made(size_t threads) {
      std::call_once(once, [&] { crew.emplace(threads, parallel::CrewKind::waits); });
      return *crew;
    }
    std::once_flag once;
    std::optional<parallel::Crew> crew;
  };
  Lazy waiting_, walking_;
};

// A File of parallel::OpenAhead. Each step waits for the responses to the requests that the step
// before it has sent. Not thread-safe.
class RecordFileOpening {
 public:
  // Sends the request for the start of the file. Uses the index, if there is one, as
  // RecordMapOptions::use_index says. The references must be valid as long as this object.
  RecordFileOpening(FileSystem& file_system, const std::string& path,
                    const RecordReadOptions& options, std::stop_token stop, OpeningCrews& crews);
  ~RecordFileOpening();

  // Throws the errors of open_random() and MappedRecordFile; nothing is left to be done then.
  bool step();
  parallel::Crew& crew() const;
  // Does what is left to be done. Returns false if a step has failed before.
  bool finish();
  // If finish() has returned true.
  const std::shared_ptr<const RandomAccessFile>& file() const;
  MappedRecordFile take();

 private:
  FileSystem& file_system_;
  const std::string& path_;
  const RecordReadOptions& options_;
  const RecordMapOptions map_options_;
  Opening<RandomAccessFile> opening_;
  Opening<ByteSource> index_;
  std::unique_ptr<MappedRecordFile::State> state_;
  OpeningCrews& crews_;
  bool is_left_ = true;
  bool is_open_ = false;
};

}  // namespace recordpipe
