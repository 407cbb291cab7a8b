// What the files of a pipeline are, to tell a place saved in them from one saved in others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/io/file.h"

namespace recordpipe {

// A fingerprint is made of a file's name without its folder, its size, and the CRC-32C of its
// first and its last 4 KiB and of 16 blocks of 4 KiB spread evenly in between: all of a file of up
// to 72 KiB. A change elsewhere that leaves the size as it is goes unseen. Neither the time of the
// last change counts nor the folder, so that copies are the same files. Of what is no regular file
// only the name counts.
//
// One for each iterator: a file is what it was when its source opened it, whatever has got its name
// since. All from any thread.
class FileFingerprints {
 public:
  // A source has opened the file: as a mapping, or as a stream. Where a stream's file can't be
  // looked at, of() says why.
  void opened(FileSystem& file_system, const std::string& path, std::span<const std::byte> content);
  void opened(FileSystem& file_system, const std::string& path);

  // Looks at a file that no source has opened, once. Throws what that throws.
  uint64_t of(FileSystem& file_system, const std::string& path);

  // Files that `other` knows as opened, now or later, are known here, too, unless they have been
  // opened here: for operators whose elements are read for several iterators. `other` may be gone
  // before this.
  void include(const std::shared_ptr<const FileFingerprints>& other);

  // Those that no source has opened are looked at anew.
  void forget_unopened();

 private:
  struct Known {
    uint64_t fingerprint = 0;
    bool opened = false;
  };

  void keep(FileSystem& file_system, const std::string& path, Known known);
  std::optional<uint64_t> of_opened(FileSystem& file_system, const std::string& path) const;

  mutable std::mutex mutex_;
  std::map<std::pair<FileSystem*, std::string>, Known> known_;
  std::vector<std::weak_ptr<const FileFingerprints>> included_;
};

}  // namespace recordpipe
