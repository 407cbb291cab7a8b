// An archive as a ByteSource that hashes what is read, tells how far it is, and can be stopped.
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
  // `hash`, if any, has seen the whole file after read() has returned 0. `progress` is called from
  // read(), with `activity`, a string that stays. A read after `stop` was requested throws
  // Error{cancelled}.
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
