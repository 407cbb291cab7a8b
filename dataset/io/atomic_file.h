// A file that appears whole under its name, or not at all.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dataset/io/file.h"

namespace recordpipe {

// Writes to ".NAME.partial" beside the target, which is locked while it is written: a second
// process that wants the same target gets Error{busy}. commit() syncs the file, renames it onto
// the target and syncs the folder. Destroyed before that, the partial file is removed and the
// target is what it was. A partial file left by a killed process is overwritten by the next one.
// After a failed write the partial file is gone and nothing more can be written or committed.
//
// A target that is there must be a regular file, and passes on its permissions (not its owner): a
// file that only its owner may read stays so. A symbolic link as the target is replaced by the new
// file; what it leads to stays as it is. A symbolic link in the place of the partial file is
// refused with Error{already_exists}.
class AtomicFile final : public ByteSink {
 public:
  AtomicFile(FileSystem& file_system, std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> data) override;
  // Ends the writing, syncs, and renames: the same as commit().
  void close() override { commit(); }
  void commit();
  // Ends the writing and syncs, while the target still is what it was; commit() then only renames.
  // For several files that are to appear together, and to sync one while another is written.
  void finish();
  // The target's path.
  const std::string& path() const override { return path_; }

 private:
  void require_open() const;
  void discard() noexcept;

  FileSystem& file_system_;
  std::string path_;
  std::string partial_path_;
  std::unique_ptr<FileLock> lock_;    // null once it is committed or has failed
  std::unique_ptr<OutputFile> file_;  // null once it is finished
};

// Removes the partial files that killed processes left in `directory`, those of targets whose names
// `is_wanted` takes. One that is being written stays.
void remove_abandoned_partials(FileSystem& file_system, const std::string& directory,
                               const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace recordpipe
