// Maps files into memory; unreadable pages are replaced by zeros (bus_error_guard.h).
#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/io/bus_error_guard.h"
#include "dataset/io/posix_descriptor.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

Error mapping_error(int code, const std::string& path) {
  const Error error = system_error(code, "map", path);
  if (code != ENOMEM) return error;
  return Error({.kind = error.kind(),
                .path = path,
                .reason = error.reason(),
                .hint = "a process may map vm.max_map_count files (sysctl): raise it, or open "
                        "fewer files at a time"});
}

class PosixMapping final : public MappedFile {
 public:
  explicit PosixMapping(const std::string& path) : path_(path) {
    PosixDescriptor descriptor(path, O_RDONLY | O_NONBLOCK);
    descriptor.require_regular();
    opened_ = descriptor.opened();
    const auto size = static_cast<size_t>(opened_.st_size);
    if (size == 0) return;
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
    if (start == MAP_FAILED) throw mapping_error(errno, path);
    bytes_ = {static_cast<const std::byte*>(start), size};
    try {
      guard_.emplace(bytes_);
    } catch (...) {
      ::munmap(start, size);
      throw;
    }
  }

  ~PosixMapping() override {
    guard_.reset();
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  PosixMapping(const PosixMapping&) = delete;
  PosixMapping& operator=(const PosixMapping&) = delete;

  std::span<const std::byte> bytes() const override { return bytes_; }

  bool damaged() const override { return (guard_ && guard_->tripped()) || was_cut(); }

  void hint(uint64_t offset, uint64_t size, ReadHint hint) const override {
    advise(offset, size, hint == ReadHint::done ? MADV_DONTNEED : MADV_WILLNEED);
  }

  std::string identity() const override { return posix_identity(opened_); }

  // Reads into `scratch` unless it is empty. Bytes that can't be read (the file was truncated, or
  // replaced by another) are copied from the mapping, which handles damage.
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    const auto mapped = MappedFile::read(offset, size, {});
    if (scratch.empty() || mapped.empty()) return mapped;
    std::call_once(reading_, [this] { open_again(); });
    const auto out = scratch.first(mapped.size());
    size_t filled = 0;
    try {
      if (descriptor_) filled = descriptor_->read_at(offset, out);
    } catch (const Error&) {
      // The device failed: the mapping reports it as damaged().
    }
    if (filled == out.size()) return out;
    std::ranges::copy(mapped.subspan(filled), out.begin() + static_cast<std::ptrdiff_t>(filled));
    hint(offset + filled, out.size() - filled, ReadHint::done);
    return out;
  }

  const std::string& path() const override { return path_; }

 private:
  // Failures of madvise() are harmless.
  void advise(uint64_t offset, uint64_t size, int advice) const {
    static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t end = std::min<uint64_t>(offset + size, bytes_.size());
    const uint64_t first = offset / page * page;
    if (first >= end) return;
    ::madvise(const_cast<std::byte*>(bytes_.data()) + first, end - first, advice);
  }

  bool is_mapped_one(const struct stat& file) const {
    return file.st_dev == opened_.st_dev && file.st_ino == opened_.st_ino;
  }

  // Called by the first read() into `scratch`: a mapping itself needs no descriptor, and the number
  // of descriptors is limited.
  void open_again() const {
    struct stat now = {};
    if (::stat(path_.c_str(), &now) != 0 || !is_mapped_one(now)) return;
    try {
      auto descriptor = std::make_unique<PosixDescriptor>(path_, O_RDONLY | O_NONBLOCK);
      if (is_mapped_one(descriptor->opened())) descriptor_ = std::move(descriptor);
    } catch (const Error&) {
      // For example, too many open files.
    }
  }

  // Detects a truncation within the last page, which raises no SIGBUS: the bytes after the new end
  // read as zeros. Compares sizes by path, so that a mapping needs no descriptor.
  bool was_cut() const {
    struct stat now = {};
    return ::stat(path_.c_str(), &now) == 0 && is_mapped_one(now) && now.st_size < opened_.st_size;
  }

  std::string path_;
  struct stat opened_ = {};
  std::span<const std::byte> bytes_;
  std::optional<BusErrorGuard> guard_;
  mutable std::once_flag reading_;
  mutable std::unique_ptr<PosixDescriptor> descriptor_;
};

}  // namespace

std::unique_ptr<MappedFile> map_posix_file(const std::string& path) {
  return std::make_unique<PosixMapping>(path);
}

}  // namespace recordpipe
