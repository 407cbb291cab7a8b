// Compares the files that ranges of splits need with those that are there.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/tfds/splits.h"

namespace recordpipe::tfds {
namespace {

// The names without "-of-NNNNN" at the end; "" for other names.
std::string without_count(const std::string& path) {
  const size_t of = path.rfind("-of-");
  if (of == path.npos || of < 5) return {};
  const auto is_number = [](std::string_view text) {
    return text.size() >= 5 && text.find_first_not_of("0123456789") == text.npos;
  };
  const size_t dash = path.rfind('-', of - 1);
  if (dash == path.npos || !is_number(std::string_view(path).substr(dash + 1, of - dash - 1)) ||
      !is_number(std::string_view(path).substr(of + 4))) {
    return {};
  }
  return path.substr(0, dash);
}

// The names in folders, each listed once.
class Listings {
 public:
  explicit Listings(FileSystem& file_system) : file_system_(file_system) {}

  const std::set<std::string>& in(const std::string& folder) {
    const auto [at, is_new] = names_.try_emplace(folder);
    if (is_new) {
      const auto status = file_system_.status(folder);
      if (status && status->kind == FileKind::directory) {
        for (std::string& name : file_system_.list(folder)) at->second.insert(std::move(name));
      }
    }
    return at->second;
  }

  bool has(const std::string& path) {
    const std::string folder = parent_directory(path);
    return in(folder).contains(path.substr(folder.size() + 1));
  }

 private:
  FileSystem& file_system_;
  std::map<std::string, std::set<std::string>> names_;
};

void check_missing(const ExampleRange& range, const Info& info, Listings& listings) {
  size_t missing = 0;
  std::string first;
  const std::vector<FileRange> files = file_ranges({range}, info);
  for (const FileRange& file : files) {
    if (!listings.has(file.path) && missing++ == 0) first = file.path;
  }
  if (missing == 0) return;
  throw Error({.kind = ErrorKind::not_found,
               .path = first,
               .reason = "no such file: of the " + std::to_string(files.size()) + " files of \"" +
                         printable(range.split) + "\" that are needed, " + std::to_string(missing) +
                         " are missing",
               .hint = "copy or download them, or read a slice of the others"});
}

void check_extra(const Split& split, Listings& listings) {
  if (split.files.empty()) return;
  const std::string stem = without_count(split.files.front());
  if (stem.empty()) return;
  const std::set<std::string> own(split.files.begin(), split.files.end());
  const std::string folder = parent_directory(stem);
  for (const std::string& name : listings.in(folder)) {
    const std::string file = folder + "/" + name;
    if (without_count(file) != stem || own.contains(file)) continue;
    throw Error({.kind = ErrorKind::corrupted,
                 .path = file,
                 .reason = "the split \"" + printable(split.name) + "\" has " +
                           std::to_string(split.files.size()) +
                           " files, and this is not one of them",
                 .hint = "remove the files of other versions"});
  }
}

}  // namespace

void check_files(const std::vector<ExampleRange>& ranges, const Info& info,
                 FileSystem& file_system) {
  Listings listings(file_system);
  for (const ExampleRange& range : ranges) {
    check_extra(*info.find(range.split), listings);
    check_missing(range, info, listings);
  }
}

}  // namespace recordpipe::tfds
