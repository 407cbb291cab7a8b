// The sizes of files that a FileSystem has told while their folders were listed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe::python {

// Forwards to another FileSystem, to find input files. Listings of object stores have the sizes, so
// that no file needs a request of its own. Not thread-safe.
class ListedSizes final : public FileSystem {
 public:
  explicit ListedSizes(FileSystem& files) : files_(files) {}

  // Nothing if no listing had the file, or its size.
  std::optional<uint64_t> size_of(const std::string& path) const {
    const auto found = sizes_.find(path);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return kept(directory, files_.list_entries(directory));
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    return kept(directory, files_.list_entries_with_prefix(directory, prefix));
  }

  std::optional<FileStatus> status(const std::string& path) override { return files_.status(path); }
  bool is_directory(const std::string& path) override { return files_.is_directory(path); }
  bool can_map(const std::string& path) override { return files_.can_map(path); }
  bool reads_ahead(const std::string& path) override { return files_.reads_ahead(path); }
  std::vector<std::string> list(const std::string& directory) override {
    return files_.list(directory);
  }
  std::string resolve_link(const std::string& path) override { return files_.resolve_link(path); }
  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return files_.open_source(path);
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return files_.open_random(path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override { return files_.map(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return files_.create(path, mode);
  }
  std::unique_ptr<Upload> begin_upload(const std::string& path) override {
    return files_.begin_upload(path);
  }
  void make_directories(const std::string& path) override { files_.make_directories(path); }
  void rename(const std::string& from, const std::string& to) override { files_.rename(from, to); }
  void remove(const std::string& path) override { files_.remove(path); }
  void remove_empty_directory(const std::string& path) override {
    files_.remove_empty_directory(path);
  }
  void sync_directory(const std::string& path) override { files_.sync_directory(path); }
  std::unique_ptr<FileLock> lock(const std::string& path) override { return files_.lock(path); }

 private:
  std::vector<DirectoryEntry> kept(const std::string& directory,
                                   std::vector<DirectoryEntry> entries) {
    if (files_.can_map(directory)) return entries;
    const bool is_working_directory = directory.empty() || directory == ".";
    const bool has_slash = directory.ends_with('/');
    const std::string folder = is_working_directory ? "" : directory + (has_slash ? "" : "/");
    for (const DirectoryEntry& entry : entries) {
      if (entry.kind == FileKind::regular && entry.size) sizes_[folder + entry.name] = *entry.size;
    }
    return entries;
  }

  FileSystem& files_;
  std::map<std::string, uint64_t> sizes_;
};

}  // namespace recordpipe::python
