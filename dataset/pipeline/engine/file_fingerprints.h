// Fingerprints of a pipeline's files: tell whether a state was saved with the same files.
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

#include "dataset/pipeline/engine/plan_description.h"
#include "recordpipe/file.h"

namespace recordpipe::internal {

// The modification time, the folder and the query of a URL don't count: copies are the same files,
// and a presigned URL may be signed again. For anything but a regular file, and for a URL whose
// server sends no size, only the name counts.
struct FileFingerprint {
  uint64_t name = 0;
  uint64_t name_and_size = 0;
  // The name, the size, and the CRC-32C of the first and the last 4 KiB and of 16 blocks of 4 KiB
  // spread evenly in between: the whole content up to 72 KiB. A change elsewhere that keeps the
  // size is not detected.
  uint64_t content = 0;
};

// Reads the blocks; read errors are thrown.
FileFingerprint fingerprint_of(const std::string& path, const RandomAccessFile& file);
FileFingerprint fingerprint_of(FileSystem& file_system, const std::string& path);
// Distinguishes versions of the file at `path`: its identity(), or its fingerprint if that is
// empty.
std::string version_of(const std::string& path, const RandomAccessFile& file);

// One for each iterator: a file's fingerprint is that of the file its source opened, even if
// another file has the name since. Each file is examined once; its blocks are read only if a source
// has opened it, or had when a state was saved. Thread-safe.
class FileFingerprints {
 public:
  // Every opened file is also recorded in `parent`, unless that is null.
  explicit FileFingerprints(std::shared_ptr<FileFingerprints> parent = nullptr)
      : parent_(std::move(parent)) {}

  // Called when a source has opened the file.
  void opened(FileSystem& file_system, const std::string& path, const FileFingerprint& fingerprint);
  // The same for a stream; computes its fingerprint unless it is known. If that fails, content()
  // throws the error.
  void opened(FileSystem& file_system, const std::string& path);
  // Called when a source couldn't open the file.
  void failed_to_open(const std::string& path);

  // Adds the files that `other` knows as opened, now or later, except files opened here: for
  // operators whose elements are read by several iterators. `other` may be destroyed before this.
  void include(const std::shared_ptr<const FileFingerprints>& other);

  bool was_opened(FileSystem& file_system, const std::string& path) const;
  // Fingerprints of a file that no source has opened: its version at the first request. Errors of
  // examining the file are thrown.
  uint64_t name_and_size(FileSystem& file_system, const std::string& path);
  uint64_t content(FileSystem& file_system, const std::string& path);
  // Forgets the fingerprints of files that no source has opened: they are examined again.
  void forget_unopened();

  struct Opened {
    FileSystem* file_system;
    std::string path;
    FileFingerprint fingerprint;
  };
  // The opened files that are not in `files`: those of the inputs of interleave and flat_map.
  // Sorted by path.
  std::vector<Opened> opened_besides(std::span<const SourceFile> files) const;

  // Until take_unexpected(), files of these names are expected to have this content. If several
  // files have the same name, one of them must have it.
  void expect(std::multimap<uint64_t, uint64_t> contents_by_name);
  // The first file with another content than expected, or that a source couldn't open; empty if
  // there is none.
  std::string take_unexpected();

 private:
  using Key = std::pair<FileSystem*, std::string>;
  struct Known {
    uint64_t name_and_size = 0;
    std::optional<FileFingerprint> fingerprint = {};
    bool opened = false;
  };

  bool is_expecting() const;
  void compare(const std::string& path, const FileFingerprint& fingerprint);
  // A file that was opened, by this iterator or by an included one.
  std::optional<Known> find_opened(const Key& key) const;
  void collect_opened(std::map<Key, FileFingerprint>& out) const;

  const std::shared_ptr<FileFingerprints> parent_;
  mutable std::mutex mutex_;
  std::map<Key, Known> known_;
  std::vector<std::weak_ptr<const FileFingerprints>> included_;
  std::multimap<uint64_t, uint64_t> expected_;
  std::string unexpected_;
};

}  // namespace recordpipe::internal
