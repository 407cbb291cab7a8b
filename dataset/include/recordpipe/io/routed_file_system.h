// Two file systems behind the interface of one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Forwards each call to the file system that has the path. A subclass may override functions.
class RoutedFileSystem : public FileSystem {
 public:
  // `own` has the paths for which is_own(path); `other`, which must outlive this object, has all
  // other paths, from which `prefix` is removed. Without `own`, it has all.
  explicit RoutedFileSystem(FileSystem& other, std::shared_ptr<FileSystem> own = {},
                            std::function<bool(const std::string& path)> is_own = {},
                            std::string prefix = {})
      : other_(other),
        own_(std::move(own)),
        is_own_(std::move(is_own)),
        prefix_(std::move(prefix)) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return of(path).open_source(name(path));
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return of(path).open_random(name(path));
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    return of(path).map(name(path));
  }
  Opening<ByteSource> start_source(const std::string& path) override {
    return of(path).start_source(name(path));
  }
  Opening<RandomAccessFile> start_random(const std::string& path) override {
    return of(path).start_random(name(path));
  }
  bool can_map(const std::string& path) override { return of(path).can_map(name(path)); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return of(path).create(name(path), mode);
  }
  std::optional<FileStatus> status(const std::string& path) override {
    return of(path).status(name(path));
  }
  std::string resolve_link(const std::string& path) override {
    const std::string target = of(path).resolve_link(name(path));
    return target == name(path) ? path : target;
  }
  std::vector<std::string> list(const std::string& directory) override {
    return of(directory).list(name(directory));
  }
  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return of(directory).list_entries(name(directory));
  }
  bool is_directory(const std::string& path) override { return of(path).is_directory(name(path)); }
  bool reads_ahead(const std::string& path) override { return of(path).reads_ahead(name(path)); }
  void make_directories(const std::string& path) override { of(path).make_directories(name(path)); }
  // By `own`, if one of the paths is of it.
  void rename(const std::string& from, const std::string& to) override {
    (has(from) || has(to) ? *own_ : other_).rename(name(from), name(to));
  }
  void remove(const std::string& path) override { of(path).remove(name(path)); }
  void remove_empty_directory(const std::string& path) override {
    of(path).remove_empty_directory(name(path));
  }
  void sync_directory(const std::string& path) override { of(path).sync_directory(name(path)); }
  std::unique_ptr<Upload> begin_upload(const std::string& path) override {
    return of(path).begin_upload(name(path));
  }
  std::unique_ptr<FileLock> lock(const std::string& path) override {
    return of(path).lock(name(path));
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    return of(directory).list_entries_with_prefix(name(directory), prefix);
  }

 private:
  bool has(const std::string& path) const { return own_ && is_own_(path); }
  FileSystem& of(const std::string& path) const { return has(path) ? *own_ : other_; }

  std::string name(const std::string& path) const {
    return !has(path) && path.starts_with(prefix_) ? path.substr(prefix_.size()) : path;
  }

  FileSystem& other_;
  const std::shared_ptr<FileSystem> own_;
  const std::function<bool(const std::string& path)> is_own_;
  const std::string prefix_;
};

}  // namespace recordpipe
