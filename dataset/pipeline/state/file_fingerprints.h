// Computes fingerprints of a pipeline's files, to check whether a state was saved with the same
// files.
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

#include "dataset/pipeline/observe/plan_description.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe::internal {

// Ignores the modification time, the folder, and the query of a URL: a copy counts as the same
// file, and a presigned URL may be signed again. For anything but a regular file, and for a URL
// whose server sends no size, only the name counts.
struct FileFingerprint {
  uint64_t name = 0;
  uint64_t name_and_size = 0;
  // Covers the name, the size, and the CRC-32C of the first and the last 4 KiB and of 16 blocks of
  // 4 KiB spread evenly in between. In files up to 72 KiB, this is the whole content; in larger
  // files, a change elsewhere that keeps the size is not detected.
  uint64_t content = 0;
};

// Reads the blocks; throws read errors.
FileFingerprint fingerprint_of(const std::string& path, const RandomAccessFile& file);
FileFingerprint fingerprint_of(FileSystem& file_system, const std::string& path);
// Returns a text that differs between versions of the file at `path`: the file's identity() or, if
// that is empty, its fingerprint.
std::string version_of(const std::string& path, const RandomAccessFile& file);

// Keeps the fingerprints for one iterator. A file's fingerprint is that of the file that a source
// opened, even if another file has the same name now. Each file is examined once; its blocks are
// read only if a source has opened it, or had opened it when a state was saved. Thread-safe. A
// child made by fork() may forget the files: then they are examined again.
class FileFingerprints {
 public:
  // Every opened file is also recorded in `parent`, unless `parent` is null.
  explicit FileFingerprints(std::shared_ptr<FileFingerprints> parent = nullptr)
      : parent_(std::move(parent)) {}

  // Called when a source has opened the file.
  void opened(FileSystem& file_system, const std::string& path, const FileFingerprint& fingerprint);
  // The same for a stream. Computes the fingerprint if the file wasn't opened before, or if content
  // is expected (expect()). If that fails, content() tries again and throws the error.
  void opened(FileSystem& file_system, const std::string& path);
  // Called when a source couldn't open the file.
  void failed_to_open(const std::string& path);

  // Adds the files that `other` has opened or will open; files opened here take precedence. For
  // operators whose elements are read by several iterators. `other` may be destroyed before this
  // object.
  void include(const std::shared_ptr<const FileFingerprints>& other);

  bool was_opened(FileSystem& file_system, const std::string& path) const;
  // The fingerprints of a file. If no source has opened it, they describe the file's version at the
  // first request. Throws the errors of examining the file.
  uint64_t name_and_size(FileSystem& file_system, const std::string& path);
  uint64_t content(FileSystem& file_system, const std::string& path);
  // Forgets the fingerprints of files that no source has opened: they are examined again.
  void forget_unopened();

  struct Opened {
    FileSystem* file_system;
    std::string path;
    FileFingerprint fingerprint;
  };
  // The opened files that are not in `files` (the sources' files): the files of the inputs of
  // interleave and flat_map. Sorted by file system and path.
  std::vector<Opened> opened_besides(std::span<const SourceFile> files) const;

  // Until take_unexpected(), files of these names are expected to have these contents. If a name
  // has several contents, a file of this name must have one of them.
  void expect(std::multimap<uint64_t, uint64_t> contents_by_name);
  // Returns the first expected file that had another content, or that a source couldn't open; empty
  // if there is none.
  std::string take_unexpected();

 private:
  using Key = std::pair<FileSystem*, std::string>;
  struct Known {
    uint64_t name_and_size = 0;
    std::optional<FileFingerprint> fingerprint = {};
    bool opened = false;
  };

  bool is_expecting() const;
  void after_fork();
  void compare(const std::string& path, const FileFingerprint& fingerprint);
  // Finds a file that was opened by this iterator or by an included one.
  std::optional<Known> find_opened(const Key& key) const;
  void collect_opened(std::map<Key, FileFingerprint>& out) const;

  const std::shared_ptr<FileFingerprints> parent_;
  mutable std::mutex mutex_;
  std::map<Key, Known> known_;
  std::vector<std::weak_ptr<const FileFingerprints>> included_;
  std::multimap<uint64_t, uint64_t> expected_;
  std::string unexpected_;
  const AfterFork renewal_{[this] { after_fork(); }};
};

}  // namespace recordpipe::internal
