#include "recordpipe/glob.h"

#include <algorithm>
#include <utility>

#include <fnmatch.h>

namespace recordpipe {
namespace {

bool is_folder(FileSystem& file_system, const std::string& path) {
  const auto status = file_system.status(path);
  return status && status->kind == FileKind::directory;
}

// Adds the matches of `pattern` in the directory `prefix` ("", or a path that ends with /).
void expand(FileSystem& file_system, const std::string& prefix, std::string_view pattern,
            std::vector<std::string>& found) {
  // Components before the first pattern are used literally.
  size_t begin = 0;
  size_t end = pattern.find('/');
  while (end != std::string_view::npos &&
         !has_glob_characters(pattern.substr(begin, end - begin))) {
    begin = end + 1;
    end = pattern.find('/', begin);
  }
  const std::string folder = prefix + std::string(pattern.substr(0, begin));
  const bool is_last = end == std::string_view::npos;
  const std::string name(pattern.substr(begin, is_last ? end : end - begin));
  const std::string_view rest = is_last ? "" : pattern.substr(end + 1);
  if (is_last && !has_glob_characters(name)) {
    if (file_system.status(folder + name)) found.push_back(folder + name);
    return;
  }
  const std::string listed = folder.empty() ? "." : folder;
  if (!is_folder(file_system, listed)) return;
  for (const std::string& entry : file_system.list(listed)) {
    if (::fnmatch(name.c_str(), entry.c_str(), FNM_PERIOD) != 0) continue;
    const bool folder_found = is_folder(file_system, folder + entry);
    if (is_last && !folder_found) found.push_back(folder + entry);
    if (!is_last && folder_found) expand(file_system, folder + entry + "/", rest, found);
  }
}

}  // namespace

bool has_glob_characters(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::vector<std::string> glob(FileSystem& file_system, const std::string& pattern) {
  std::vector<std::string> found;
  expand(file_system, "", pattern, found);
  std::ranges::sort(found);
  return found;
}

}  // namespace recordpipe
