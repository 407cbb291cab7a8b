// Opens the next files of tfrecord_files in advance.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "dataset/parallel/crew.h"

namespace recordpipe::internal {

// Opening a file waits for the network, or for the disk once for each part that contains record
// headers. While one file is planned, this class opens the next files on the threads of a crew,
// several at a time. Its functions are called by the planning thread, which opens a file itself if
// no thread has begun to, or if that has failed: so errors don't depend on timing.
//
// A File has these functions:
//   void open()                    Does what is left to be done, on any thread, on one at a time.
//   uint64_t mapped_bytes() const  The size of the mapping, after open().
template <class File>
class OpenAhead final : public parallel::Work,
                        public std::enable_shared_from_this<OpenAhead<File>> {
 public:
  // Makes file `number`, without waiting for anything.
  using Make = std::function<std::shared_ptr<File>(size_t number)>;

  OpenAhead(std::shared_ptr<parallel::Crew> crew, Make make)
      : crew_(std::move(crew)), make_(std::move(make)) {}

  // Begins to open these files, too, the lowest number first.
  void want(std::span<const size_t> numbers) {
    for (const size_t number : numbers) {
      if (find(number)) continue;
      std::shared_ptr<File> file = make_(number);
      const std::lock_guard lock(mutex_);
      files_[number].file = std::move(file);
    }
    const std::lock_guard lock(mutex_);
    const auto is_waiting = [](const auto& entry) { return entry.second.state == State::waiting; };
    const auto waiting = static_cast<size_t>(std::ranges::count_if(files_, is_waiting));
    while (visits_ < waiting) visit();
  }

  // Closes the files outside [begin, end), except those that are being opened.
  void keep_only(size_t begin, size_t end) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const auto& entry) {
      const auto& [number, file] = entry;
      return (number < begin || number >= end) && file.state != State::opening;
    });
  }

  // Null if it isn't wanted.
  std::shared_ptr<File> find(size_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(number);
    return found == files_.end() ? nullptr : found->second.file;
  }

  // Calls open() of a file once more, which has more to do than before.
  void open_more(size_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(number);
    if (found == files_.end()) return;
    found->second.more = found->second.state == State::opening;
    if (found->second.state != State::done) return;
    found->second.state = State::waiting;
    visit();
  }

  // Removes a file, and returns it when no thread is opening it. Null if it isn't wanted.
  std::shared_ptr<File> take(size_t number) {
    std::unique_lock lock(mutex_);
    const auto found = files_.find(number);
    if (found == files_.end()) return nullptr;
    opened_.wait(lock, [&] { return found->second.state != State::opening; });
    std::shared_ptr<File> file = std::move(found->second.file);
    files_.erase(found);
    return file;
  }

  // After stop() returns, no file is being opened, and none will be.
  void stop() {
    std::unique_lock lock(mutex_);
    std::erase_if(files_, [](const auto& entry) { return entry.second.state != State::opening; });
    opened_.wait(lock, [&] {
      return std::ranges::none_of(
          files_, [](const auto& entry) { return entry.second.state == State::opening; });
    });
    files_.clear();
    crew_.reset();  // a thread of it may own this object for a moment more
  }

  void work() noexcept override {
    std::unique_lock lock(mutex_);
    --visits_;
    uint64_t mapped = 0;
    for (const auto& [number, entry] : files_) {
      if (entry.state == State::done) mapped += entry.file->mapped_bytes();
    }
    if (mapped > kMaxMapped) return;
    const auto next = std::ranges::find_if(
        files_, [](const auto& entry) { return entry.second.state == State::waiting; });
    if (next == files_.end()) return;
    Entry& entry = next->second;
    entry.state = State::opening;  // from here on, it is not removed
    do {
      entry.more = false;
      lock.unlock();
      try {
        entry.file->open();
      } catch (...) {
        // The planning thread gets the same error.
      }
      lock.lock();
    } while (entry.more);
    entry.state = State::done;
    opened_.notify_all();
  }

 private:
  enum class State { waiting, opening, done };
  struct Entry {
    std::shared_ptr<File> file = {};
    State state = State::waiting;
    bool more = false;  // open() is to be called again
  };

  // If the open files are larger than this in total, no further file is opened: their pages would
  // evict each other from the page cache.
  static constexpr uint64_t kMaxMapped = uint64_t{64} << 20;

  void visit() {
    ++visits_;
    crew_->submit(this->weak_from_this());
  }

  std::shared_ptr<parallel::Crew> crew_;  // null after stop()
  const Make make_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable opened_;
  std::map<size_t, Entry> files_;
  size_t visits_ = 0;  // calls of work() that were asked for and have not come
};

}  // namespace recordpipe::internal
