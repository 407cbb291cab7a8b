// --keep-extracted: the folder that a published archive extracts to, written beside the conversion.
// Names come from the list of known ones, never from the archive.
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
  // The folder will be one in `parent`, which exists.
  ExtractedFolder(FileSystem& file_system, std::string parent);
  // Without a commit() nothing stays behind, nor does the folder if nothing else is in it.
  ~ExtractedFolder();
  ExtractedFolder(const ExtractedFolder&) = delete;
  ExtractedFolder& operator=(const ExtractedFolder&) = delete;

  // Starts the file `name` in the folder `folder`, the same for all; its bytes follow.
  void begin_file(std::string_view folder, std::string_view name);
  void write(std::span<const std::byte> data);
  // As if no file had been begun, nor the folder made, if nothing else is in it.
  void forget();
  // All files get their names, complete.
  void commit();

  // The folder; empty where no file was begun.
  const std::string& path() const { return path_; }

 private:
  FileSystem& file_system_;
  std::string parent_;
  std::string path_;
  // Those that have no names yet; all but the last are finished.
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

// Removes what killed conversions left in the folder, and the folder if nothing else is in it.
void remove_abandoned_extraction(FileSystem& file_system, const std::string& folder);

}  // namespace recordpipe
