// A file that is written by an upload, in a file system without rename().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Appears at close().
class UploadedFile final : public OutputFile {
 public:
  UploadedFile(std::string path, std::unique_ptr<Upload> upload)
      : path_(std::move(path)), upload_(upload.release()) {}

  void write(std::span<const std::byte> data) override { upload_->write(data); }
  void close() override { upload_->commit(); }
  void sync() override {}
  void copy_permissions(const std::string&) override {}
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const std::unique_ptr<Upload, internal::DeleteUnlessForked> upload_;
};

}  // namespace recordpipe
