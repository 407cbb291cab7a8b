// Keeps the records that are selected while they are counted, if they are few: then the inputs need
// not be read a second time to write them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/io/temporary_file.h"
#include "recordpipe/toolkit/record_selection.h"

namespace recordpipe {

// What is more than 4 MiB goes to a temporary file, of at most 1 GiB, and at most a quarter of the
// bytes that were read so far: reading more than that again would take hardly longer. Beyond these
// limits, and if the file can't be written (a full disk), all is dropped.
class KeptRecords {
 public:
  // `directory`: for the temporary file; "" for none.
  explicit KeptRecords(std::string directory) : directory_(std::move(directory)) {}

  // Thread-safe: `bytes` more of the inputs were read.
  void count_read(uint64_t bytes) { read_ += bytes; }
  void add(RecordPieces pieces, size_t split);
  // Drops all, and keeps nothing from now on.
  void drop();
  bool has_all() const { return has_all_; }

  // Requires has_all(). Calls `consume` for each record, in order; `data` is valid during the call.
  void drain(
      const std::function<void(std::span<const std::byte> data, size_t split)>& consume) const;

 private:
  bool has_room(uint64_t size) const;
  void spill();

  const std::string directory_;
  std::atomic<uint64_t> read_ = 0;
  bool has_all_ = true;
  uint64_t size_ = 0;
  std::vector<std::byte> buffer_;  // frames: split, size, data
  std::optional<TemporaryFile> file_;
  std::vector<size_t> spilled_;  // sizes of former buffers in the file
};

}  // namespace recordpipe
