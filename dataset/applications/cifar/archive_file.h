// An archive as a ByteSource with hashing, progress reports and cancellation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/file.h"
#include "recordpipe/progress.h"
#include "recordpipe/sha256.h"

namespace recordpipe {

class ArchiveFile final : public ByteSource {
 public:
  // `hash` (may be null) has the whole file after read() has returned 0. read() calls `progress`
  // with `activity`, which must outlive this object, and throws Error{cancelled} after a stop
  // request.
  ArchiveFile(FileSystem& file_system, const std::string& path, std::shared_ptr<Sha256> hash,
              std::string_view activity, ProgressFunction progress, std::stop_token stop);

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override { return file_->path(); }

 private:
  std::unique_ptr<ByteSource> file_;
  std::shared_ptr<Sha256> hash_;
  ProgressFunction progress_;
  std::stop_token stop_;
  Progress state_;
  std::chrono::steady_clock::time_point next_report_ = {};
};

}  // namespace recordpipe
