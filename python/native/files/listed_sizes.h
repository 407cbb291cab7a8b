// The sizes of files that a FileSystem has told while their folders were listed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/routed_file_system.h"

namespace recordpipe::python {

// Finds input files in another FileSystem. Listings of object stores have the sizes, so
// that no file needs a request of its own. Not thread-safe.
class ListedSizes final : public RoutedFileSystem {
 public:
  explicit ListedSizes(FileSystem& files) : RoutedFileSystem(files) {}

  // Nothing if no listing had the file, or its size.
  std::optional<uint64_t> size_of(const std::string& path) const {
    const auto found = sizes_.find(path);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return kept(directory, RoutedFileSystem::list_entries(directory));
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    return kept(directory, RoutedFileSystem::list_entries_with_prefix(directory, prefix));
  }

 private:
  std::vector<DirectoryEntry> kept(const std::string& directory,
                                   std::vector<DirectoryEntry> entries) {
    if (can_map(directory)) return entries;
    const bool is_working_directory = directory.empty() || directory == ".";
    const bool has_slash = directory.ends_with('/');
    const std::string folder = is_working_directory ? "" : directory + (has_slash ? "" : "/");
    for (const DirectoryEntry& entry : entries) {
      if (entry.kind == FileKind::regular && entry.size) sizes_[folder + entry.name] = *entry.size;
    }
    return entries;
  }

  std::map<std::string, uint64_t> sizes_;
};

}  // namespace recordpipe::python
