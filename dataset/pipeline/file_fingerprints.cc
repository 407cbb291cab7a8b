#include "dataset/pipeline/file_fingerprints.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dataset/base/error.h"
#include "dataset/base/philox.h"
#include "dataset/checksum/crc32c.h"

namespace recordpipe {
namespace {

constexpr uint64_t kBlockSize = 4096;
constexpr uint64_t kBlocks = 18;

uint64_t name_fingerprint(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return crc32c(std::as_bytes(std::span(name)));
}

// crc_at(offset, size): that of a part of the content.
template <class CrcAt>
uint64_t fingerprint(const std::string& path, uint64_t size, CrcAt crc_at) {
  uint64_t hash = derive_key(name_fingerprint(path), size);
  const uint64_t block = std::min(size, kBlockSize);
  const uint64_t blocks = size > kBlockSize ? kBlocks : 1;
  for (uint64_t i = 0; i < blocks; ++i) {
    // The rounded-down parts of the way from the first block to the last.
    const uint64_t way = size - block;
    const uint64_t last = kBlocks - 1;
    const uint64_t offset = way / last * i + way % last * i / last;
    hash = derive_key(hash, crc_at(offset, block));
  }
  return hash;
}

uint64_t fingerprint(FileSystem& file_system, const std::string& path) {
  const auto status = file_system.status(path);
  if (!status || status->kind != FileKind::regular) return name_fingerprint(path);
  const auto content = file_system.open_random(path);
  std::array<std::byte, kBlockSize> block;
  return fingerprint(path, content->size(), [&](uint64_t offset, uint64_t size) {
    const size_t read = content->read_at(offset, std::span(block).first(size));
    return crc32c(std::span(block).first(read));
  });
}

}  // namespace

void FileFingerprints::keep(FileSystem& file_system, const std::string& path, Known known) {
  const std::lock_guard lock(mutex_);
  known_[{&file_system, path}] = known;
}

void FileFingerprints::opened(FileSystem& file_system, const std::string& path,
                              std::span<const std::byte> content) {
  const uint64_t hash = fingerprint(path, content.size(), [&](uint64_t offset, uint64_t size) {
    return crc32c(content.subspan(offset, size));
  });
  keep(file_system, path, {hash, /*opened=*/true});
}

void FileFingerprints::opened(FileSystem& file_system, const std::string& path) {
  try {
    keep(file_system, path, {fingerprint(file_system, path), /*opened=*/true});
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    known_.erase({&file_system, path});
  }
}

void FileFingerprints::include(const std::shared_ptr<const FileFingerprints>& other) {
  const std::lock_guard lock(mutex_);
  std::erase_if(included_, [](const auto& included) { return included.expired(); });
  included_.push_back(other);
}

std::optional<uint64_t> FileFingerprints::of_opened(FileSystem& file_system,
                                                    const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find({&file_system, path});
  if (found != known_.end() && found->second.opened) return found->second.fingerprint;
  for (const auto& included : included_) {
    const auto other = included.lock();
    if (!other) continue;
    if (const auto fingerprint = other->of_opened(file_system, path)) return fingerprint;
  }
  return {};
}

uint64_t FileFingerprints::of(FileSystem& file_system, const std::string& path) {
  if (const auto fingerprint = of_opened(file_system, path)) return *fingerprint;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({&file_system, path});
    if (found != known_.end()) return found->second.fingerprint;
  }
  const uint64_t hash = fingerprint(file_system, path);
  const std::lock_guard lock(mutex_);
  return known_.try_emplace({&file_system, path}, Known{hash}).first->second.fingerprint;
}

void FileFingerprints::forget_unopened() {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& file) { return !file.second.opened; });
}

}  // namespace recordpipe
