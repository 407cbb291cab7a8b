// Manages the directory of a converted data set: the TFRecord files of the splits, a note that
// names the source archive, a mark for synthetic images, and the lock of a conversion.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Each split is in SPLIT.tfrecords, or in SPLIT-00000-of-0000N.tfrecords and so on.
inline constexpr std::array<std::string_view, 3> kCifarSplits = {"train", "validation", "eval"};
// All files of all splits are open (locked) until the last file is complete: 3 * 256 is below the
// usual limit of 1024 open files.
inline constexpr size_t kMaxCifarShards = 256;

// Returns "train.tfrecords" for one shard of one, otherwise "train-00002-of-00008.tfrecords".
std::string split_file_name(std::string_view split, size_t shard, size_t shards);

// Whether `name` is a possible result of split_file_name().
bool is_split_file_name(std::string_view name);

struct CifarSplitFiles {
  std::vector<std::string> present;  // existing files with this number of shards
  std::vector<std::string> missing;  // missing files with this number of shards
  std::vector<std::string> others;   // existing files with another number of shards
};

// Searches for the files of all splits in `data_dir`. If the directory does not exist, all files
// are missing.
CifarSplitFiles find_split_files(FileSystem& file_system, const std::string& data_dir,
                                 size_t shards);

// The note DATA_DIR/source.txt, which names the archive that the TFRecord files were made from.
// Without a note, the source is unknown.

// Writes the note, atomically. `sha256` may be empty.
void note_source(FileSystem& file_system, const std::string& data_dir, const std::string& archive,
                 const std::string& sha256);

// Returns "ARCHIVE" or "ARCHIVE (SHA-256 ...)" as one printable line; empty if there is no note.
std::string noted_source(FileSystem& file_system, const std::string& data_dir);

void remove_source_note(FileSystem& file_system, const std::string& data_dir);

// The mark DATA_DIR/synthetic.txt of TFRecord files with synthetic images. Programs that print
// accuracies on such files must say that the images are synthetic.
bool is_marked_synthetic(FileSystem& file_system, const std::string& data_dir);
void mark_synthetic(FileSystem& file_system, const std::string& data_dir);
void unmark_synthetic(FileSystem& file_system, const std::string& data_dir);

// Allows one conversion at a time in a directory. The lock is held for the lifetime of the object;
// the kernel releases it when the process dies. It is implemented by a hidden file in the
// directory, which the destructor removes. The constructor throws Error{busy} if another process
// holds the lock.
class FolderLock {
 public:
  FolderLock(FileSystem& file_system, const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  FileSystem& file_system_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

// The extracted files of an archive, which the conversion writes with --keep-extracted. File names
// come from the list of known names, never from the archive.
class ExtractedFolder {
 public:
  // Creates the directory in `parent`, which must exist.
  ExtractedFolder(FileSystem& file_system, std::string parent);
  // Without commit(), removes the files, and the directory if it is empty.
  ~ExtractedFolder();
  ExtractedFolder(const ExtractedFolder&) = delete;
  ExtractedFolder& operator=(const ExtractedFolder&) = delete;

  // Begins the file `name` in the directory `folder`, which must be the same for all files.
  void begin_file(std::string_view folder, std::string_view name);
  // Appends to the current file.
  void write(std::span<const std::byte> data);
  // Removes all files, and the directory if it is empty.
  void forget();
  // Renames all files to their final names.
  void commit();

  // The directory; empty if no file was begun.
  const std::string& path() const { return path_; }

 private:
  FileSystem& file_system_;
  std::string parent_;
  std::string path_;
  // The uncommitted files. All files except the last are finished.
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

// Removes the partial files of killed conversions, and the directory if it is empty.
void remove_abandoned_extraction(FileSystem& file_system, const std::string& folder);

}  // namespace recordpipe
