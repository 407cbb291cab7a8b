// Takes any bytes as the name of an input: the files are found, in bounded time and memory, or an
// Error says why not. The file system has the same three entries in every folder, down to a depth,
// so that most patterns match.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "dataset/io/braces.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/input_files.h"
#include "tests/support/single_file_system.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

class SameEverywhere final : public SingleFileSystem {
 public:
  SameEverywhere() : SingleFileSystem("") {}

  std::vector<DirectoryEntry> list_entries(const std::string& path) override {
    ++listings;
    const auto depth = std::count(path.begin(), path.end(), '/');
    std::vector<DirectoryEntry> entries = {{.name = "a.tfrecord"}, {.name = "b"}};
    if (depth < 3) entries.push_back({.name = "d", .kind = FileKind::directory});
    return entries;
  }
  std::optional<FileStatus> status(const std::string& path) override {
    if (path.ends_with("/d")) return FileStatus{FileKind::directory, 0};
    if (path.ends_with("b")) return FileStatus{};
    return std::nullopt;
  }

  size_t listings = 0;
};

void check_input(const std::string& name) {
  for (const bool recursive : {false, true}) {
    SameEverywhere files;
    try {
      const auto found = find_input_files(files, {name}, {.recursive = recursive});
      require(found.size() <= 1'000'000 * 8, "too many files");
      if (found != std::vector{name}) {
        require(std::ranges::all_of(found, [](const auto& path) { return !path.empty(); }),
                "an empty path");
      }
    } catch (const Error& error) {
      require(error.kind() == ErrorKind::not_found || error.kind() == ErrorKind::limit_exceeded,
              "another error");
    }
  }
  try {
    const std::vector<std::string> words = BracePattern(name).words(1000);
    require(words.size() <= 1000, "too many words");
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::limit_exceeded, "another error");
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
