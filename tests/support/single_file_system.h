// Implements a file system in memory with one file, which can be read as a stream or mapped.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "tests/support/bytes.h"

namespace recordpipe {

class SingleFileSystem : public FileSystem {
 public:
  explicit SingleFileSystem(std::string content) : content_(std::move(content)) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return std::make_unique<MemorySource>(content_, path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    return std::make_unique<Mapping>(content_, path);
  }
  std::optional<FileStatus> status(const std::string&) override {
    return FileStatus{FileKind::regular, content_.size()};
  }

  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override { refuse(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode) override { refuse(path); }
  std::vector<std::string> list(const std::string& path) override { refuse(path); }
  void make_directories(const std::string& path) override { refuse(path); }
  void rename(const std::string& path, const std::string&) override { refuse(path); }
  void remove(const std::string& path) override { refuse(path); }
  void remove_empty_directory(const std::string& path) override { refuse(path); }
  void sync_directory(const std::string& path) override { refuse(path); }
  std::unique_ptr<FileLock> lock(const std::string& path) override { refuse(path); }

 protected:
  const std::string& content() const { return content_; }

 private:
  class Mapping final : public MappedFile {
   public:
    Mapping(const std::string& content, std::string path)
        : content_(content), path_(std::move(path)) {}
    std::span<const std::byte> bytes() const override { return as_bytes(content_); }
    bool damaged() const override { return false; }
    const std::string& path() const override { return path_; }

   private:
    const std::string& content_;
    std::string path_;
  };

  [[noreturn]] static void refuse(const std::string& path) {
    throw Error({.kind = ErrorKind::unsupported, .path = path, .reason = "only one file, to read"});
  }

  std::string content_;
};

}  // namespace recordpipe
