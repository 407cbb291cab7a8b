#include <algorithm>
#include <mutex>
#include <utility>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/operators/sources/record_plan.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::internal {
namespace {

constexpr size_t kOpened = 64;
// The threads that wait for responses: one that is retried doesn't hold up others.
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
        opening_(opener.files_.file_system.start_source(path)) {}

  // Opens the source, and if it is a next one, examines it.
  bool step() {
    // A file system that can't be told to stop takes the stop request from the thread.
    const CallStopScope scope(opener_.files_.opened->stop.token());
    if (!source_) open_source();
    bool is_next = false;
    {
      const std::lock_guard lock(mutex_);
      is_next = is_next_;
    }
    if (is_next && !std::exchange(is_known_, true)) examine();
    return false;
  }
  parallel::Crew& crew() const { return opener_.crew_; }

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
    std::unique_ptr<ByteSource> source =
        opening_ ? std::exchange(opening_, {})() : opener_.files_.file_system.open_source(path_);
    // The file that is read, and those that are read ahead.
    const auto& read_ahead = opener_.read_ahead_;
    if (read_ahead) source->limit_read_ahead(*read_ahead / 2 / (1 + kPrefetched));
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
  bool is_wanted_ = false;       // must be read ahead
  Opening<ByteSource> opening_;  // null when it was called: it may have failed
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<RandomAccessFile> random_;  // of the source; null if it has none
  std::optional<FileFingerprint> fingerprint_;
};

StreamOpener::StreamOpener(const RecordFiles& files)
    : files_(files), crew_(kWaiting, parallel::CrewKind::waits) {
  const auto& memory = files.context.memory;
  if (memory && memory->is_limited()) read_ahead_ = memory->limit() / 2;
}

StreamOpener::~StreamOpener() = default;

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
  ahead_.keep_only(number, end);
  for (size_t i = number; i < end; ++i) {
    if (!ahead_.find(i)) ahead_.add(i, std::make_unique<File>(*this, paths[i]));
  }
  for (size_t i = number; i < std::min(end, number + 1 + kPrefetched); ++i) {
    ahead_.find(i)->prefetch();
  }
  // The next one, too, before this one is waited for.
  for (size_t i = number; i < std::min(end, number + 2); ++i) {
    ahead_.find(i)->set_next();
    ahead_.open_more(i);
  }
  const auto file = ahead_.take(number);
  file->step();
  if (const auto& fingerprint = file->fingerprint()) {
    context.files->opened(file_system, paths[number], *fingerprint);
  } else {
    context.files->opened(file_system, paths[number]);
  }
  return file->take();
}

}  // namespace recordpipe::internal
