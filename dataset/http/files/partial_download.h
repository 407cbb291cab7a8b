// Stores the received part of a download in TARGET.part, and describes its origin in
// TARGET.part.meta.
//
// Both files stay consistent after SIGKILL or power loss at any time: data is only appended to the
// part, and the description is written and synced only while the part is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "recordpipe/io/file.h"
#include "recordpipe/io/sha256.h"

namespace recordpipe {

class PartialDownload {
 public:
  // Identifies the version of the server's file that the part belongs to.
  struct Origin {
    std::string validator = {};          // for If-Range; "" if the server sent none
    std::optional<uint64_t> total = {};  // size in bytes, if the server sent it
  };

  // Locks TARGET.part (Error{busy} if another process is downloading the same file), and reads the
  // part that an earlier run left; a stop request ends the reading. If TARGET is a symbolic link,
  // all files are in the directory of the link's target, and the link stays.
  PartialDownload(FileSystem& file_system, const std::string& target, const std::string& url,
                  const std::stop_token& stop);
  // Keeps the part for the next run; removes an empty one.
  ~PartialDownload();
  PartialDownload(const PartialDownload&) = delete;
  PartialDownload& operator=(const PartialDownload&) = delete;

  const std::string& path() const { return part_path_; }
  uint64_t size() const { return size_; }
  // Empty if unknown.
  const std::optional<Origin>& origin() const { return origin_; }
  // The SHA-256 of the part.
  std::string sha256() const { return hash_.hex(); }
  // Whether the part has bytes of more than one response.
  bool joined() const { return joined_; }

  // Empties the part, for a response from `origin`.
  void restart(Origin origin);
  // Must be called before bytes of a further response are appended.
  void join() { joined_ = true; }
  void append(std::span<const std::byte> data);
  // Syncs the part, renames it to its target, and syncs the directory. Keeps the permissions of a
  // replaced file.
  void commit();
  // Removes the part. To be called if a later run cannot use it.
  void discard();

 private:
  void take_up(const std::stop_token& stop);
  void open(CreateMode mode);
  std::optional<Origin> read_description() const;
  void write_description() const;
  void remove_files();

  FileSystem& file_system_;
  std::string target_;  // with symbolic links resolved
  std::string part_path_;
  std::string meta_path_;
  std::string url_hash_;  // stored in place of the URL, which may contain a password
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<OutputFile> file_;
  std::optional<Origin> origin_;
  Sha256 hash_;
  uint64_t size_ = 0;
  bool joined_ = false;
  bool gone_ = false;  // committed or discarded
};

}  // namespace recordpipe
