// A file that appears whole under its name, or not at all.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/file.h"

namespace recordpipe {

// Writes to ".NAME.partial" beside the target, which is locked while it is written: a second
// process that wants the same target gets Error{busy}. commit() syncs the file, renames it onto
// the target and syncs the folder. Destroyed before that, the partial file is removed and the
// target is what it was. A partial file left by a killed process is overwritten by the next one.
// After a failed write the partial file is gone and nothing more can be written or committed.
//
// A target that is there must be a regular file, and passes on its permissions (not its owner): a
// file that only its owner may read stays so. A symbolic link is followed, as by a shell's ">": the
// target is the file that it leads to, which need not be there yet, with the partial file beside
// it; the link stays. A symbolic link in the place of the partial file, which nobody asked to be
// written through, is refused with Error{already_exists} that names it; all other errors name the
// path that was given.
class AtomicFile final : public ByteSink {
 public:
  AtomicFile(FileSystem& file_system, std::string path);
  // One of several that are written under a single lock, that of `first`: whoever writes them takes
  // that one's lock before the others', and keeps it until the last of them is committed or gone
  // (AtomicFileSet does). Once finished it keeps no file open.
  AtomicFile(FileSystem& file_system, std::string path, const AtomicFile& first);
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
  // commit() under another name in the same folder: where the name can be told only when all of
  // several files are finished. A link of that name is followed, on the same file system.
  void commit_as(std::string path);
  // As it was given.
  const std::string& path() const override { return path_; }

 private:
  enum class Stage { open, finished, over };  // over: committed, or failed

  void find_target(std::string path);
  void begin();
  void require_open() const;
  std::unique_ptr<FileLock> locked();
  template <typename Step>
  void run_or_discard(const Step& step);
  void discard() noexcept;

  FileSystem& file_system_;
  std::string path_;
  std::string target_;  // what path_ leads to
  std::string partial_path_;
  Stage stage_ = Stage::open;
  std::unique_ptr<FileLock> lock_;    // null under another's lock, and once it is over
  std::unique_ptr<OutputFile> file_;  // while it is open
};

// Removes the partial files that killed processes left in `directory`, those of targets whose names
// `is_wanted` takes. One that is being written under its own lock stays.
void remove_abandoned_partials(FileSystem& file_system, const std::string& directory,
                               const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace recordpipe
