#include "dataset/toolkit/files/file_name.h"

#include <initializer_list>

#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/philox.h"

namespace recordpipe {

namespace {

size_t extension_of(std::string_view name, std::initializer_list<std::string_view> extensions) {
  for (const std::string_view extension : extensions) {
    if (name.size() > extension.size() && name.ends_with(extension)) return extension.size();
  }
  return 0;
}

}  // namespace

size_t compression_extension(std::string_view name) {
  return extension_of(name, {".gz", ".gzip", ".zlib", ".zst", ".zstd"});
}

size_t read_only_extension(std::string_view name) {
  return extension_of(name, {".bz2", ".xz", ".lz4", ".snappy", ".sz"});
}

std::string file_name(const std::string& path) {
  const std::string_view name = without_query(path);
  return std::string(name.substr(name.rfind('/') + 1));
}

std::string bare_name(const std::string& path) {
  std::string name = file_name(path);
  name.resize(name.size() - compression_extension(name));
  return name;
}

uint64_t seed_of_name(uint64_t seed, std::string_view name) {
  for (const char c : name) seed = derive_key(seed, static_cast<unsigned char>(c));
  return derive_key(seed, name.size());
}

}  // namespace recordpipe
