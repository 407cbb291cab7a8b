// Files that are written as uploads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataset/io/uploaded_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"

namespace recordpipe::python {

// Collects what is written, and passes it on in large parts.
class UploadInParts : public Upload {
 public:
  void write(std::span<const std::byte> data) override {
    while (!data.empty()) {
      const auto piece = data.first(std::min(data.size(), kPartSize - part_.size()));
      part_.insert(part_.end(), piece.begin(), piece.end());
      data = data.subspan(piece.size());
      if (part_.size() == kPartSize) send();
    }
  }

 protected:
  UploadInParts() { part_.reserve(kPartSize); }
  void send_rest() {
    if (!part_.empty()) send();
    std::vector<std::byte>().swap(part_);  // frees its memory
  }

 private:
  virtual void pass_on(std::span<const std::byte> part) = 0;
  void send() {
    pass_on(part_);
    part_.clear();
  }

  static constexpr size_t kPartSize = size_t{8} << 20;

  std::vector<std::byte> part_;
};

inline std::unique_ptr<OutputFile> upload_of(FileSystem& files, const std::string& path,
                                             CreateMode mode) {
  if (mode == CreateMode::append) {
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = "only whole files can be written here",
                 .hint = "name a file on this machine"});
  }
  return std::make_unique<UploadedFile>(path, files.begin_upload(path));
}

}  // namespace recordpipe::python
