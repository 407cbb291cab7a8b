// The extracted files of an archive, written during the conversion (--keep-extracted). File names
// are from the list of known names, never from the archive.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/atomic_file.h"
#include "recordpipe/file.h"

namespace recordpipe {

class ExtractedFolder {
 public:
  // The directory is created in `parent`, which must exist.
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
  // Renames all files to their names.
  void commit();

  // The directory; empty if no file was begun.
  const std::string& path() const { return path_; }

 private:
  FileSystem& file_system_;
  std::string parent_;
  std::string path_;
  // The uncommitted files; all except the last are finished.
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

// Removes the partial files of killed conversions, and the directory if it is empty.
void remove_abandoned_extraction(FileSystem& file_system, const std::string& folder);

}  // namespace recordpipe
