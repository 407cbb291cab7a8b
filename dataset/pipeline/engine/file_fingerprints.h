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

#include "dataset/pipeline/engine/plan_description.h"
#include "recordpipe/file.h"

namespace recordpipe::internal {

// Neither the time of the last change nor the folder counts, nor the query of a URL: copies are the
// same files, and a presigned URL may be signed again. Of what is no regular file, and of a URL
// whose server tells no size, only the name counts.
struct FileFingerprint {
  uint64_t name = 0;
  uint64_t name_and_size = 0;
  // The name, the size, and the CRC-32C of the first and the last 4 KiB and of 16 blocks of 4 KiB
  // spread evenly in between: all of a file of up to 72 KiB. A change elsewhere that leaves the
  // size as it is goes unseen.
  uint64_t content = 0;
};

FileFingerprint fingerprint_of(const std::string& path, std::span<const std::byte> content);
// Reads the blocks. Throws what that throws.
FileFingerprint fingerprint_of(FileSystem& file_system, const std::string& path);

// One for each iterator: a file is what it was when its source opened it, whatever has got its name
// since. Each file is looked at once, and its blocks are read only where it was opened or where a
// state says that it was. All from any thread.
class FileFingerprints {
 public:
  // Whatever is opened is opened for `parent`, too, unless that is null.
  explicit FileFingerprints(std::shared_ptr<FileFingerprints> parent = nullptr)
      : parent_(std::move(parent)) {}

  // A source has opened the file.
  void opened(FileSystem& file_system, const std::string& path, const FileFingerprint& fingerprint);
  // The same for a stream, whose fingerprint is taken unless it is known. Where that can't be done,
  // content() says why.
  void opened(FileSystem& file_system, const std::string& path);
  // A source couldn't open it.
  void failed_to_open(const std::string& path);

  // Files that `other` knows as opened, now or later, are known here, too, unless they have been
  // opened here: for operators whose elements are read for several iterators. `other` may be gone
  // before this.
  void include(const std::shared_ptr<const FileFingerprints>& other);

  bool was_opened(FileSystem& file_system, const std::string& path) const;
  // Of a file that no source has opened, as it is when it is first asked for. Throw what looking at
  // it throws.
  uint64_t name_and_size(FileSystem& file_system, const std::string& path);
  uint64_t content(FileSystem& file_system, const std::string& path);
  // Those that no source has opened are looked at anew.
  void forget_unopened();

  struct Opened {
    FileSystem* file_system;
    std::string path;
    FileFingerprint fingerprint;
  };
  // What was opened and is none of `files`: by the inputs of interleave and flat_map. By path.
  std::vector<Opened> opened_besides(std::span<const SourceFile> files) const;

  // Up to take_unexpected(), files of these names are expected to have this content: one of them,
  // where several have the same name.
  void expect(std::multimap<uint64_t, uint64_t> contents_by_name);
  // The first file that a source has opened and that had another content, or that a source couldn't
  // open; empty where there is none.
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
  // A file that was opened, here or as far as those included know.
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
