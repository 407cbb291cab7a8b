#include "dataset/pipeline/state/file_fingerprints.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe::internal {
namespace {

constexpr uint64_t kBlockSize = 4096;
constexpr uint64_t kBlocks = 18;

// Ignores the query of a URL, because the query of a presigned URL changes from run to run.
uint64_t name_fingerprint(std::string_view path) {
  std::string_view name = without_query(path);
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  uint64_t hash = name.size();
  for (const char c : name) hash = derive_key(hash, static_cast<unsigned char>(c));
  return hash;
}

FileFingerprint fingerprint_of_name(const std::string& path) {
  const uint64_t name = name_fingerprint(path);
  return {name, name, name};
}

// Returns the size of a regular file; empty for other files, and if the server sends no size.
std::optional<uint64_t> size_of(FileSystem& file_system, const std::string& path) {
  try {
    return regular_file_size(file_system, path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return std::nullopt;
  }
}

}  // namespace

FileFingerprint fingerprint_of(const std::string& path, const RandomAccessFile& file) {
  const uint64_t size = file.size();
  const uint64_t name = name_fingerprint(path);
  const uint64_t name_and_size = derive_key(name, size);
  uint64_t hash = name_and_size;
  const uint64_t block = std::min(size, kBlockSize);
  const uint64_t blocks = size > kBlockSize ? kBlocks : 1;
  // One batch, which other files than mapped ones need few requests for.
  std::vector<std::byte> memory(file.stable() ? 0 : blocks * block);
  std::vector<ReadRequest> reads;
  for (uint64_t i = 0; i < blocks; ++i) {
    // Block offsets: multiples of 1/17 of the distance from the first block to the last, rounded
    // down.
    const uint64_t way = size - block;
    const uint64_t last = kBlocks - 1;
    const uint64_t offset = way / last * i + way % last * i / last;
    const auto scratch = std::span(memory).subspan(file.stable() ? 0 : i * block);
    reads.push_back({.offset = offset,
                     .size = block,
                     .scratch = scratch.first(std::min<size_t>(scratch.size(), block))});
  }
  file.read_many(reads);
  for (const ReadRequest& read : reads) hash = derive_key(hash, crc32c(read.data));
  return {name, name_and_size, hash};
}

FileFingerprint fingerprint_of(FileSystem& file_system, const std::string& path) {
  if (!file_system.can_map(path)) {
    try {
      return fingerprint_of(path, *file_system.open_random(path));  // without asking for the size
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  }
  const auto size = size_of(file_system, path);
  if (!size) return fingerprint_of_name(path);
  try {
    return fingerprint_of(path, *file_system.open_random(path));
  } catch (const Error& error) {
    // The server doesn't support ranges.
    if (error.kind() != ErrorKind::unsupported) throw;
    const uint64_t name = name_fingerprint(path);
    const uint64_t name_and_size = derive_key(name, *size);
    return {name, name_and_size, name_and_size};
  }
}

std::string version_of(const std::string& path, const RandomAccessFile& file) {
  std::string identity = file.identity();
  return identity.empty() ? std::to_string(fingerprint_of(path, file).content) : identity;
}

void FileFingerprints::opened(FileSystem& file_system, const std::string& path,
                              const FileFingerprint& fingerprint) {
  if (parent_) parent_->opened(file_system, path, fingerprint);
  const std::lock_guard lock(mutex_);
  known_[{&file_system, path}] = {fingerprint.name_and_size, fingerprint, /*opened=*/true};
  compare(path, fingerprint);
}

void FileFingerprints::opened(FileSystem& file_system, const std::string& path) {
  if (was_opened(file_system, path) && !is_expecting()) return;
  try {
    opened(file_system, path, fingerprint_of(file_system, path));
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    known_[{&file_system, path}] = {.opened = true};
  }
}

void FileFingerprints::after_fork() {
  if (renew(mutex_)) return;
  renew_without_destruction(known_);
  renew_without_destruction(included_);
  renew_without_destruction(expected_);
  renew_without_destruction(unexpected_);
}

void FileFingerprints::include(const std::shared_ptr<const FileFingerprints>& other) {
  const std::lock_guard lock(mutex_);
  std::erase_if(included_, [](const auto& included) { return included.expired(); });
  included_.push_back(other);
}

std::optional<FileFingerprints::Known> FileFingerprints::find_opened(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  if (found != known_.end() && found->second.opened) return found->second;
  for (const auto& included : included_) {
    const auto other = included.lock();
    if (!other) continue;
    if (auto known = other->find_opened(key)) return known;
  }
  return std::nullopt;
}

void FileFingerprints::collect_opened(std::map<Key, FileFingerprint>& out) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : known_) {
    if (known.opened && known.fingerprint) out.try_emplace(key, *known.fingerprint);
  }
  for (const auto& included : included_) {
    if (const auto other = included.lock()) other->collect_opened(out);
  }
}

bool FileFingerprints::is_expecting() const {
  if (parent_ && parent_->is_expecting()) return true;
  const std::lock_guard lock(mutex_);
  return !expected_.empty();
}

void FileFingerprints::compare(const std::string& path, const FileFingerprint& fingerprint) {
  const auto [begin, end] = expected_.equal_range(fingerprint.name);
  const bool is_expected = begin == end || std::any_of(begin, end, [&](const auto& expected) {
                             return expected.second == fingerprint.content;
                           });
  if (!is_expected && unexpected_.empty()) unexpected_ = path;
}

void FileFingerprints::failed_to_open(const std::string& path) {
  if (parent_) parent_->failed_to_open(path);
  const std::lock_guard lock(mutex_);
  compare(path, fingerprint_of_name(path));
}

bool FileFingerprints::was_opened(FileSystem& file_system, const std::string& path) const {
  return find_opened({&file_system, path}).has_value();
}

uint64_t FileFingerprints::name_and_size(FileSystem& file_system, const std::string& path) {
  if (const auto opened = find_opened({&file_system, path})) return opened->name_and_size;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({&file_system, path});
    if (found != known_.end()) return found->second.name_and_size;
  }
  const uint64_t name = name_fingerprint(path);
  const auto size = size_of(file_system, path);
  const Known known{size ? derive_key(name, *size) : name};
  const std::lock_guard lock(mutex_);
  return known_.try_emplace({&file_system, path}, known).first->second.name_and_size;
}

uint64_t FileFingerprints::content(FileSystem& file_system, const std::string& path) {
  const auto opened = find_opened({&file_system, path});
  if (opened && opened->fingerprint) return opened->fingerprint->content;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find({&file_system, path});
    if (found != known_.end() && found->second.fingerprint) {
      return found->second.fingerprint->content;
    }
  }
  const FileFingerprint fingerprint = fingerprint_of(file_system, path);
  const std::lock_guard lock(mutex_);
  Known& known = known_[{&file_system, path}];
  known.name_and_size = fingerprint.name_and_size;
  known.fingerprint = fingerprint;
  return fingerprint.content;
}

void FileFingerprints::forget_unopened() {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& file) { return !file.second.opened; });
}

std::vector<FileFingerprints::Opened> FileFingerprints::opened_besides(
    std::span<const SourceFile> files) const {
  std::set<std::pair<FileSystem*, std::string_view>> sources;
  for (const auto& [file_system, path] : files) sources.emplace(file_system, path);
  std::map<Key, FileFingerprint> all;
  collect_opened(all);
  std::vector<Opened> others;
  for (const auto& [key, fingerprint] : all) {
    const auto& [file_system, path] = key;
    if (!sources.contains({file_system, path})) others.push_back({file_system, path, fingerprint});
  }
  return others;
}

void FileFingerprints::expect(std::multimap<uint64_t, uint64_t> contents_by_name) {
  const std::lock_guard lock(mutex_);
  expected_ = std::move(contents_by_name);
  unexpected_.clear();
}

std::string FileFingerprints::take_unexpected() {
  const std::lock_guard lock(mutex_);
  expected_.clear();
  return std::exchange(unexpected_, {});
}

}  // namespace recordpipe::internal
