// What has arrived of a download: TARGET.part, and TARGET.part.meta which says what it is a part
// of.
//
// Made so that it can be killed at any moment, by SIGKILL or a power cut, and go on: the part only
// grows at its end, and a description is only written, and synced, next to a part that is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/sha256.h"

namespace recordpipe {

class PartialDownload {
 public:
  // The file on the server that the part was cut from.
  struct Origin {
    std::string validator = {};          // for If-Range; "" where the server gave none
    std::optional<uint64_t> total = {};  // bytes, where the server said so
  };

  // Locks TARGET.part (Error{busy} if another process downloads the same file), and takes up what
  // an earlier run left of the same URL. `stop` ends the reading of it. Where TARGET is a symbolic
  // link, all of it is done where the link leads, and the link stays.
  PartialDownload(FileSystem& file_system, const std::string& target, const std::string& url,
                  const std::stop_token& stop);
  // Leaves the part for the next run, unless it is empty.
  ~PartialDownload();
  PartialDownload(const PartialDownload&) = delete;
  PartialDownload& operator=(const PartialDownload&) = delete;

  const std::string& path() const { return part_path_; }
  uint64_t size() const { return size_; }
  // Nothing where it isn't known.
  const std::optional<Origin>& origin() const { return origin_; }
  // Of what has arrived.
  std::string sha256() const { return hash_.hex(); }
  // True if it was put together from more than one answer.
  bool joined() const { return joined_; }

  // Starts over, empty, with the first answer from `origin`.
  void restart(Origin origin);
  // Says that what is appended next is from another answer.
  void join() { joined_ = true; }
  void append(std::span<const std::byte> data);
  // Gives the part its final name: syncs it, renames it, syncs the folder. A file that is replaced
  // passes on its permissions.
  void commit();
  // Removes it: it is of no use for a later run.
  void discard();

 private:
  void take_up(const std::stop_token& stop);
  void open(CreateMode mode);
  std::optional<Origin> read_description() const;
  void write_description() const;
  void remove_files();

  FileSystem& file_system_;
  std::string target_;  // once links were followed
  std::string part_path_;
  std::string meta_path_;
  std::string url_hash_;  // a URL may hold a password: not written to disk
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<OutputFile> file_;
  std::optional<Origin> origin_;
  Sha256 hash_;
  uint64_t size_ = 0;
  bool joined_ = false;
  bool gone_ = false;  // committed or discarded
};

}  // namespace recordpipe
