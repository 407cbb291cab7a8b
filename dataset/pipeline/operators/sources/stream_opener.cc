#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/operators/sources/record_plan.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/io/started_source.h"

namespace recordpipe::internal {
namespace {

constexpr size_t kOpened = 64;
// The threads that wait for sources that were started: one that is retried doesn't hold up others.
constexpr size_t kWaiting = 8;
constexpr size_t kPrefetched = 4;

// What a stream holds when it is open: the first range of an object.
constexpr uint64_t kFirstBytes = uint64_t{512} << 10;

}  // namespace

// Used by the planning thread and by those that open files.
class StreamOpener::File {
 public:
  File(const StreamOpener& opener, const std::string& path)
      : opener_(opener),
        path_(path),
        is_known_(opener.files_.context.files->was_opened(opener.files_.file_system, path)),
        started_(opener.start_source(path)) {}

  void open() {
    // A file system that can't be told to stop takes the stop request from the thread.
    const CallStopScope scope(opener_.files_.opened->stop.token());
    if (!source_) open_source();
    bool is_next = false;
    {
      const std::lock_guard lock(mutex_);
      is_next = is_next_;
    }
    if (is_next && !std::exchange(is_known_, true)) examine();
  }
  uint64_t mapped_bytes() const { return 0; }

  // It is the next one to be read, or the one after: its fingerprint is needed.
  void set_next() {
    const std::lock_guard lock(mutex_);
    is_next_ = true;
  }
  void prefetch() {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
    if (source_) source_->prefetch();
  }

  std::unique_ptr<ByteSource> take() { return std::move(source_); }
  const std::optional<FileFingerprint>& fingerprint() const { return fingerprint_; }

 private:
  void open_source() {
    std::unique_ptr<ByteSource> source = opener_.open_source(path_, std::move(started_));
    auto random = is_known_ ? nullptr : source->random_access();
    if (random && random->size() <= kFirstBytes) {
      fingerprint_ = fingerprint_of(path_, *random);  // requests nothing
      is_known_ = true;
    } else {
      random_ = std::move(random);
    }
    const std::lock_guard lock(mutex_);
    if (is_wanted_) source->prefetch();
    source_ = std::move(source);
  }

  void examine() {
    try {
      fingerprint_ = random_ ? fingerprint_of(path_, *random_)
                             : fingerprint_of(opener_.files_.file_system, path_);
    } catch (const Error&) {
      // FileFingerprints tries again.
    }
  }

  const StreamOpener& opener_;
  const std::string& path_;
  bool is_known_;     // its fingerprint is, or can't be found
  std::mutex mutex_;  // guards is_next_, is_wanted_, and source_ against prefetch()
  bool is_next_ = false;
  bool is_wanted_ = false;                  // must be read ahead
  std::unique_ptr<StartedSource> started_;  // null: open() needs a thread
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<RandomAccessFile> random_;  // of the source; null if it has none
  std::optional<FileFingerprint> fingerprint_;
};

StreamOpener::StreamOpener(const RecordFiles& files)
    : files_(files),
      starting_(dynamic_cast<StartingFileSystem*>(&files.file_system)),
      ahead_(std::make_shared<OpenAhead<File>>(
          std::make_shared<parallel::Crew>(starting_ ? kWaiting : kOpened,
                                           parallel::CrewKind::waits),
          [this](size_t number) { return std::make_shared<File>(*this, files_.paths[number]); })) {
  const auto& memory = files.context.memory;
  if (memory && memory->is_limited()) read_ahead_ = memory->limit() / 2;
}

std::unique_ptr<StartedSource> StreamOpener::start_source(const std::string& path) const {
  try {
    return starting_ ? starting_->start_source(path) : nullptr;
  } catch (const Error&) {
    return nullptr;  // open() throws it, when it is the file's turn
  }
}

std::unique_ptr<ByteSource> StreamOpener::open_source(
    const std::string& path, std::unique_ptr<StartedSource> started) const {
  if (started) started->open();
  std::unique_ptr<ByteSource> source = std::move(started);
  if (!source) source = files_.file_system.open_source(path);
  // The file that is read, and those that are read ahead.
  if (read_ahead_) source->limit_read_ahead(*read_ahead_ / 2 / (1 + kPrefetched));
  return source;
}

std::unique_ptr<ByteSource> StreamOpener::open(size_t number) {
  const auto& [file_system, paths, counts, options, damage, context, opened] = files_;
  const CallStopScope scope(opened->stop.token());
  if (!file_system.reads_ahead(paths[number])) {
    auto source = file_system.open_source(paths[number]);
    context.files->opened(file_system, paths[number]);
    return source;
  }
  const size_t most =
      read_ahead_ ? std::clamp<size_t>(*read_ahead_ / 2 / kFirstBytes, 1, kOpened) : kOpened;
  size_t end = number + 1;
  while (end < std::min(number + 1 + most, paths.size()) && file_system.reads_ahead(paths[end])) {
    ++end;
  }
  std::vector<size_t> numbers(end - number);
  std::iota(numbers.begin(), numbers.end(), number);
  ahead_->keep_only(number, end);
  ahead_->want(numbers);
  for (size_t i = number; i < std::min(end, number + 1 + kPrefetched); ++i) {
    ahead_->find(i)->prefetch();
  }
  // The next one, too, before this one is waited for.
  for (size_t i = number; i < std::min(end, number + 2); ++i) {
    ahead_->find(i)->set_next();
    ahead_->open_more(i);
  }
  const std::shared_ptr<File> file = ahead_->take(number);
  file->open();
  if (const auto& fingerprint = file->fingerprint()) {
    context.files->opened(file_system, paths[number], *fingerprint);
  } else {
    context.files->opened(file_system, paths[number]);
  }
  return file->take();
}

}  // namespace recordpipe::internal
