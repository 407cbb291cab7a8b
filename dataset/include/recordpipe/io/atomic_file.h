// Atomic file replacement: a file appears complete under its name, or not at all.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

enum class Durability {
  synced,  // what was committed outlasts a loss of power
  // Not synced, which saves milliseconds for each file on a disk. After a loss of power, the file
  // may be empty, cut off or missing: for what is checked when it is read, and can be made again.
  cached,
};

// Writes to ".NAME.partial" in the target's directory. The partial file is locked while it is
// written: a second writer of the same target gets Error{busy}. commit() syncs the partial file,
// renames it to the target and syncs the directory (see Durability). Destruction before commit()
// removes the partial file and leaves the target unchanged. If a process is killed, the next writer
// overwrites the partial file that it left. After a failed write the partial file is removed, and
// write() and commit() throw Error{invalid_argument}; so they do in a child made by fork(), whose
// copy of this object touches no file.
//
// An existing target must be a regular file; the new file gets the permissions of the old one (not
// its owner). A symbolic link is followed, as by a shell's ">": the target is the file that the
// link points to, which need not exist; the partial file is in that file's directory, and the link
// stays. A symbolic link with the name of the partial file is never followed: Error{already_exists}
// names the link. All other errors name `path`. Not thread-safe.
//
// In an object store there is no partial file and no lock: the content is uploaded, and commit()
// lets it appear (FileSystem::begin_upload). If there was no object of this name at the beginning
// and there is one at commit(), that throws Error{already_exists}.
class AtomicFile final : public ByteSink {
 public:
  AtomicFile(FileSystem& file_system, std::string path, Durability durability = Durability::synced);
  // Opens one of several files under a single lock, the lock of `first`. Every writer of these
  // files must take the lock of `first` before it opens the other files, and keep the lock until
  // the last file is committed or discarded (as AtomicFileSet does). A finished file holds no
  // descriptor.
  AtomicFile(FileSystem& file_system, std::string path, const AtomicFile& first);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> data) override;
  // The same as commit().
  void close() override { commit(); }
  void commit();
  // Ends the writing and syncs the partial file; the target is unchanged. A later commit() only
  // renames. For several files that must appear together, and to sync one file while another is
  // written.
  void finish();
  // Closes the partial file until the next write(), finish() or commit(). A paused file holds no
  // descriptor but that of its lock. No effect on an upload.
  void pause();
  // Commits under another name in the same directory, for names that are known only after several
  // files are finished. Follows a symbolic link of that name to a target on the same file system.
  // Error{unsupported} for an object whose name changes.
  void commit_as(std::string path);
  // The path as it was passed to the constructor or to commit_as().
  const std::string& path() const override { return path_; }

 private:
  enum class Stage { open, finished, over };  // over: committed, or failed

  void find_target(std::string path);
  // Returns false if files are not uploaded.
  bool begin_upload(const std::string& path);
  void begin();
  OutputFile& open_file();
  void require_open() const;
  std::unique_ptr<FileLock> locked();
  template <typename Step>
  void run_or_discard(const Step& step);
  void discard() noexcept;

  FileSystem& file_system_;
  const Durability durability_ = Durability::synced;
  const internal::MakerProcess maker_;
  std::string path_;
  std::string target_;  // path_ with symbolic links resolved
  std::string partial_path_;
  Stage stage_ = Stage::open;
  std::unique_ptr<FileLock> lock_;    // null under another file's lock, and in Stage::over
  std::unique_ptr<OutputFile> file_;  // null: paused, or not in Stage::open
  // In place of the lock, the partial file and file_.
  std::unique_ptr<Upload, internal::DeleteUnlessForked> upload_;
};

// Removes the partial files that killed processes left in `directory`, for all targets whose names
// `is_wanted` accepts. Keeps partial files that are locked by a writer.
void remove_abandoned_partials(FileSystem& file_system, const std::string& directory,
                               const std::function<bool(std::string_view name)>& is_wanted);

}  // namespace recordpipe
