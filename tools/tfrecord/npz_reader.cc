#include "tools/tfrecord/npz_reader.h"

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

#include "dataset/base/error.h"
#include "dataset/base/stop.h"

namespace recordpipe {
namespace {

constexpr size_t kMostArrays = 10'000;
constexpr size_t kBufferSize = size_t{256} << 10;
constexpr std::string_view kEnding = ".npy";

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

[[noreturn]] void fail(ErrorKind kind, const std::string& path, std::string reason) {
  throw Error({.kind = kind, .path = path, .reason = std::move(reason)});
}

void check(archive* a, la_ssize_t result, const std::string& path) {
  if (result >= ARCHIVE_WARN) return;
  const char* const reason = archive_error_string(a);
  fail(ErrorKind::corrupted, path, reason ? reason : "not a zip file");
}

Archive open_archive(const std::string& path) {
  Archive zip(archive_read_new());
  if (!zip) throw std::bad_alloc();
  check(zip.get(), archive_read_support_format_zip(zip.get()), path);
  check(zip.get(), archive_read_open_filename(zip.get(), path.c_str(), kBufferSize), path);
  return zip;
}

// Fills `out`; less only at the member's end.
size_t read_fully(archive* zip, std::span<std::byte> out, const std::string& path) {
  size_t filled = 0;
  while (filled < out.size()) {
    const la_ssize_t count = archive_read_data(zip, out.data() + filled, out.size() - filled);
    check(zip, count, path);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return filled;
}

NpyHeader parse_header(std::span<const std::byte> head, const std::string& path) {
  try {
    return parse_npy_header(head);
  } catch (const Error& error) {
    throw Error(
        {.kind = error.kind(), .path = path, .reason = error.reason(), .hint = error.hint()});
  }
}

NpzArray read_member(archive* zip, std::string name, const std::string& path,
                     const std::string& directory, const std::stop_token& stop) {
  std::vector<std::byte> buffer(std::max(kBufferSize, kMaxNpyHeader));
  size_t count = read_fully(zip, buffer, path);
  NpzArray array = {std::move(name), parse_header(std::span(buffer).first(count), path),
                    TemporaryFile(directory)};
  const uint64_t size =
      array.header.rows() == 0 ? 0 : array.header.rows() * array.header.row_bytes();
  std::span<const std::byte> values = std::span(buffer).first(count);
  values = values.subspan(array.header.data_begin);
  while (true) {
    throw_if_stopped(stop, path);
    if (array.values.size() + values.size() > size) {
      fail(ErrorKind::corrupted, path, "it is longer than its header says");
    }
    array.values.append(values);
    count = read_fully(zip, buffer, path);
    if (count == 0) break;
    values = std::span(buffer).first(count);
  }
  if (array.values.size() < size)
    fail(ErrorKind::truncated, path, "it is shorter than its header says");
  return array;
}

}  // namespace

std::vector<NpzArray> read_npz(const std::string& path, const std::string& directory,
                               const std::stop_token& stop) {
  const Archive zip = open_archive(path);
  std::vector<NpzArray> arrays;
  archive_entry* entry = nullptr;
  while (true) {
    const int result = archive_read_next_header(zip.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    check(zip.get(), result, path);
    const char* const raw_name = archive_entry_pathname_utf8(entry);
    std::string name = raw_name ? raw_name : "";
    const std::string member = path + ":" + name;
    if (!name.ends_with(kEnding)) fail(ErrorKind::unsupported, member, "not a .npy file");
    name.resize(name.size() - kEnding.size());
    if (std::ranges::any_of(arrays, [&](const NpzArray& array) { return array.name == name; })) {
      fail(ErrorKind::corrupted, member, "it is there twice");
    }
    if (arrays.size() == kMostArrays)
      fail(ErrorKind::limit_exceeded, path, "more than 10,000 arrays");
    arrays.push_back(read_member(zip.get(), std::move(name), member, directory, stop));
  }
  return arrays;
}

}  // namespace recordpipe
