// Opens the next files of a sequence in advance.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "dataset/parallel/crew.h"

namespace recordpipe::parallel {

// Opening a file waits for the network, or for the disk once for each part that contains record
// headers. While one file is used, this class opens the next files on the threads of crews, one
// thread at a time for each. Its functions are called by the thread that uses the files, which
// opens a file itself if no thread has begun to, or if that has failed: so errors don't depend on
// timing.
//
// A File has these functions:
//   bool step()   Does the next step, on any thread. Returns whether another follows at once: it
//                 comes after those of other files, whose responses have arrived by then. Without
//                 effect if nothing is left to be done.
//   Crew& crew()  The crew whose threads do the next step. Must outlive the File.
template <class File>
class OpenAhead {
 public:
  OpenAhead() = default;
  ~OpenAhead() {
    while (!turns_.empty()) take(turns_.begin()->first);
  }
  OpenAhead(const OpenAhead&) = delete;
  OpenAhead& operator=(const OpenAhead&) = delete;

  // Begins to open a file.
  void add(size_t number, std::unique_ptr<File> file) {
    const auto turn = std::make_shared<Turn>();
    turn->file = std::move(file);
    turn->begin();
    turns_.emplace(number, turn);
  }
  // Null if there is none.
  File* find(size_t number) const {
    const auto found = turns_.find(number);
    return found == turns_.end() ? nullptr : found->second->file.get();
  }
  // Calls step() of a file once more, which has more to do than before.
  void open_more(size_t number) { turns_.at(number)->begin(); }
  // Removes a file, and returns it when no thread is at work on it. Null if there is none.
  std::unique_ptr<File> take(size_t number) {
    const auto node = turns_.extract(number);
    if (!node) return nullptr;
    const std::lock_guard lock(node.mapped()->mutex);
    return std::move(node.mapped()->file);
  }
  // Closes the files outside [begin, end), except those that are being opened.
  void keep_only(size_t begin, size_t end) {
    std::erase_if(turns_, [&](const auto& entry) {
      const auto& [number, turn] = entry;
      if (number >= begin && number < end) return false;
      const std::unique_lock lock(turn->mutex, std::try_to_lock);
      if (lock) turn->file.reset();
      return lock.owns_lock();
    });
  }

 private:
  // A thread may own it for a moment more.
  struct Turn final : Work, std::enable_shared_from_this<Turn> {
    void begin() { file->crew().submit(this->weak_from_this()); }
    void work() noexcept override {
      const std::lock_guard lock(mutex);
      try {
        if (file && file->step()) begin();
      } catch (...) {
        // The thread that uses the files gets the same error.
      }
    }

    std::mutex mutex;            // held during each step
    std::unique_ptr<File> file;  // null when it was taken
  };

  std::map<size_t, std::shared_ptr<Turn>> turns_;
};

}  // namespace recordpipe::parallel
