#include "dataset/applications/cifar/foreign_archive.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "recordpipe/error.h"

namespace recordpipe {
namespace {

struct Format {
  std::string_view start;  // ? is any byte
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view kPackAgain =
    "unpack it, and pack its folder again: tar -czf cifar.tar.gz FOLDER";

constexpr std::array<Format, 6> kFormats = {{
    {"\3757zXZ", "an xz file", "compress it again: xz -dc FILE | gzip >cifar.tar.gz"},
    {"BZh?1A", "a bzip2 file", "compress it again: bzip2 -dc FILE | gzip >cifar.tar.gz"},
    {"\x28\xB5\x2F\xFD", "a zstd file", "compress it again: zstd -dc FILE | gzip >cifar.tar.gz"},
    {"PK\x03\x04", "a zip file", kPackAgain},
    {"7z\xBC\xAF\x27\x1C", "a 7z file", kPackAgain},
    {"Rar!\x1A\x07", "a rar file", kPackAgain},
}};

bool starts_with(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::equal(start.begin(), start.end(), text.begin(),
                    [](char wanted, char found) { return wanted == '?' || wanted == found; });
}

}  // namespace

void refuse_foreign_archive(std::span<const std::byte> head, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Format& format : kFormats) {
    if (!starts_with(text, format.start)) continue;
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = std::string(format.name) + ", not a .tar.gz or .tar",
                 .hint = std::string(format.hint)});
  }
}

}  // namespace recordpipe
