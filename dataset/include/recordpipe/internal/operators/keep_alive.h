// How elements hold on to what they point into, where that would be closed before them.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "recordpipe/record.h"

namespace recordpipe {

// What an element points to in its input must be there after the input is closed. Records know how
// to keep it; other elements of inputs must own what they hold.
template <class U>
void keep_alive(U&, const std::shared_ptr<const void>&) {}
inline void keep_alive(Record& record, const std::shared_ptr<const void>& input) {
  if (!record.owner) record.owner = {input, record.data.data()};
}
inline void keep_alive(std::vector<Record>& records, const std::shared_ptr<const void>& input) {
  for (Record& record : records) keep_alive(record, input);
}

// Open files that the elements of a cache may point into, of whatever type they are. Sources add
// what they open; the cache keeps it. Thread-safe.
class OpenFiles {
 public:
  void add(std::shared_ptr<const void> file) {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> files_;
};

}  // namespace recordpipe
