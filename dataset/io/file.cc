#include "recordpipe/io/file.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

class RewoundSource final : public ByteSource {
 public:
  RewoundSource(std::vector<std::byte> head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  size_t read(std::span<std::byte> out) override {
    if (used_ == head_.size()) return rest_->read(out);
    const auto left = std::span(head_).subspan(used_);
    const size_t count = std::min(out.size(), left.size());
    std::copy_n(left.data(), count, out.data());
    used_ += count;
    return count;
  }

  const std::string& path() const override { return rest_->path(); }

 private:
  std::vector<std::byte> head_;
  size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

std::unique_ptr<RandomAccessFile> ByteSource::random_access() { return nullptr; }

void RandomAccessFile::read_many(std::span<ReadRequest> requests) const {
  for (ReadRequest& request : requests) {
    request.data = read(request.offset, request.size, request.scratch);
  }
}

size_t RandomAccessFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  const auto data = read(offset, out.size(), out);
  // Pointers, because std::ranges::copy() to a span's iterator copies byte by byte (libstdc++ 12).
  if (data.data() != out.data()) std::copy_n(data.data(), data.size(), out.data());
  return data.size();
}

std::span<const std::byte> MappedFile::read(uint64_t offset, size_t size,
                                            std::span<std::byte>) const {
  const auto rest = bytes().subspan(std::min<uint64_t>(offset, bytes().size()));
  return rest.first(std::min(rest.size(), size));
}

std::vector<std::string> FileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  for (DirectoryEntry& entry : list_entries(directory)) names.push_back(std::move(entry.name));
  return names;
}

std::vector<DirectoryEntry> FileSystem::list_entries(const std::string& directory) {
  const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
  std::vector<DirectoryEntry> entries;
  for (std::string& name : list(directory)) {
    const std::string path = prefix + name;
    const auto found = status(path);
    const bool is_link = resolve_link(path) != path;
    if (!found && !is_link) continue;
    entries.push_back({.name = std::move(name),
                       .kind = found ? found->kind : FileKind::other,
                       .is_link = is_link,
                       .size = found ? std::optional(found->size) : std::nullopt});
  }
  return entries;
}

Opening<ByteSource> FileSystem::start_source(const std::string& path) {
  return [this, path] { return open_source(path); };
}

Opening<RandomAccessFile> FileSystem::start_random(const std::string& path) {
  return [this, path] { return open_random(path); };
}

std::unique_ptr<Upload> FileSystem::begin_upload(const std::string&) { return nullptr; }

bool FileSystem::is_directory(const std::string& path) {
  const auto found = status(path);
  return found && found->kind == FileKind::directory;
}

std::string parent_directory(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<DirectoryEntry> FileSystem::list_entries_with_prefix(const std::string& directory,
                                                                 std::string_view prefix) {
  std::vector<DirectoryEntry> entries = list_entries(directory);
  std::erase_if(entries,
                [&](const DirectoryEntry& entry) { return !entry.name.starts_with(prefix); });
  return entries;
}

std::optional<uint64_t> regular_file_size(FileSystem& file_system, const std::string& path) {
  const auto status = file_system.status(path);
  return status && status->kind == FileKind::regular ? std::optional(status->size) : std::nullopt;
}

void require_replaceable(FileSystem& file_system, const std::string& path) {
  const auto status = file_system.status(path);
  if (!status || status->kind == FileKind::regular) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = path,
               .reason = status->kind == FileKind::directory ? "is a folder" : "not a regular file",
               .hint = "name a file"});
}

size_t read_fully(ByteSource& source, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const size_t count = source.read(out.subspan(done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

PeekedSource peek(std::unique_ptr<ByteSource> source, size_t size) {
  std::vector<std::byte> head(size);
  head.resize(read_fully(*source, head));
  return {head, std::make_unique<RewoundSource>(head, std::move(source))};
}

std::vector<std::byte> read_all(ByteSource& source, size_t limit) {
  constexpr size_t kFirstStep = size_t{64} << 10;
  std::vector<std::byte> content;
  size_t filled = 0;
  while (true) {
    if (filled == content.size()) {
      // Doubles the buffer, up to one byte more than the limit: a source that fills this byte is
      // too long.
      size_t step = std::max(kFirstStep, filled);
      if (limit - filled < step) step = limit - filled + 1;
      content.resize(filled + step);
    }
    const size_t count = source.read(std::span(content).subspan(filled));
    filled += count;
    if (count == 0) {
      content.resize(filled);
      return content;
    }
    if (filled > limit) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .path = source.path(),
                   .reason = "longer than the limit of " + std::to_string(limit) + " bytes"});
    }
  }
}

}  // namespace recordpipe
