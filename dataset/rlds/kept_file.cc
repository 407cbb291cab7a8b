#include "dataset/rlds/kept_file.h"

#include <cstdlib>
#include <filesystem>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"

namespace recordpipe::rlds {

std::string hexadecimal(uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15];
  return text;
}

std::vector<std::string> kept_paths(const std::string& path) {
  std::vector<std::string> paths{path};
  std::filesystem::path folder;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache && *cache == '/') {
    folder = cache;
  } else if (home && *home == '/') {
    folder = std::filesystem::path(home) / ".cache";
  } else {
    return paths;
  }
  const std::filesystem::path file = std::filesystem::absolute(path).lexically_normal();
  uint64_t hash = 0;
  for (const char c : file.native()) hash = derive_key(hash, static_cast<unsigned char>(c));
  const std::string name = hexadecimal(hash) + "-" + file.filename().native();
  paths.push_back(folder / "recordpipe" / "rlds" / name);
  return paths;
}

void keep_file(FileSystem& file_system, const std::string& path,
               const std::function<void(const std::string&)>& save,
               const std::function<void(const std::string&)>& kept) {
  for (const std::string& place : kept_paths(path)) {
    try {
      if (place != path) file_system.make_directories(parent_directory(place));
      save(place);
      if (kept) kept(place);
      return;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::busy) return;  // another process keeps the same file there
      // The next place may work.
    }
  }
}

}  // namespace recordpipe::rlds
