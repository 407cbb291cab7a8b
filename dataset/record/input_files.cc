#include "recordpipe/record/input_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dataset/base/names_in_words.h"
#include "dataset/io/glob_walk.h"
#include "dataset/io/listings.h"
#include "dataset/record/expanded_names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/io/glob.h"

namespace recordpipe {
namespace {

// With more names in one folder, one listing is cheaper than the status of each.
constexpr size_t kMaxRequests = 3;

Error error_about(const std::string& name, ErrorKind kind, std::string reason,
                  std::string hint = {}) {
  return Error({.kind = kind, .path = name, .reason = std::move(reason), .hint = std::move(hint)});
}

// Whether `path` is the index of another path: of its records, or of the steps of episodes
// (rlds/step_index.h).
template <typename Contains>
bool is_index_of_another(std::string_view path, const Contains& contains) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".idx", ".steps"}, [&](std::string_view ending) {
        return path.ends_with(ending) && contains(path.substr(0, path.size() - ending.size()));
      });
}

// Removes the indexes of other paths.
void remove_indexes(std::vector<GlobMatch>& found) {
  const auto contains = [&](std::string_view path) {
    const auto place = std::ranges::lower_bound(found, path, {}, &GlobMatch::path);
    return place != found.end() && place->path == path;
  };
  std::vector<GlobMatch> files;
  for (const GlobMatch& match : found) {
    if (!is_index_of_another(match.path, contains)) files.push_back(match);
  }
  found = std::move(files);
}

class InputFiles {
 public:
  InputFiles(FileSystem& file_system, const InputFilesOptions& options, bool keeps_listings)
      : file_system_(file_system), options_(options), listings_(file_system, keeps_listings) {}

  void add(const std::string& name);
  FilesAndFolders take() { return {std::move(files_), std::move(folders_), std::move(left_out_)}; }

 private:
  void add_url(const std::string& url);
  void add_literal(const std::string& path);
  void add_folder(const std::string& folder);
  void add_pattern(const std::string& pattern);
  void add_words(const std::vector<std::string>& words, const std::string& name);
  [[noreturn]] void refuse_folder(const std::string& folder);
  // Adds the record files to `found`.
  void find_in_folder(const std::string& folder, std::vector<std::string>& found);
  // Returns whether there are any.
  bool add_matches(const std::vector<GlobMatch>& matches);
  // The kinds of files, whose names are without special characters; nullopt: no such file.
  std::vector<std::optional<FileKind>> kinds_of(const std::vector<std::string>& paths);
  std::optional<FileKind> kind_of(const std::string& path);

  FileSystem& file_system_;
  const InputFilesOptions options_;
  Listings listings_;
  std::vector<std::string> files_;
  std::vector<std::string> folders_;  // read with those below them
  std::vector<std::string> left_out_;
};

void InputFiles::add(const std::string& name) {
  if (is_http_url(name)) return add_url(name);
  const bool may_be_pattern = !options_.literal && name.find_first_of("*?[{@") != name.npos;
  if (!may_be_pattern) return add_literal(name);
  const auto kind = kind_of(name);
  if (kind) return *kind == FileKind::directory ? add_folder(name) : files_.push_back(name);
  if (const auto words = expand_names(name)) return add_words(*words, name);
  if (has_glob_characters(name)) return add_pattern(name);
  files_.push_back(name);
}

void InputFiles::add_url(const std::string& url) {
  const auto urls = options_.literal ? std::nullopt : expand_names(url);
  if (!urls) return files_.push_back(url);
  files_.insert(files_.end(), urls->begin(), urls->end());
}

void InputFiles::add_literal(const std::string& path) {
  if (options_.keep_folders) return files_.push_back(path);
  bool is_folder = false;
  try {
    is_folder = file_system_.is_directory(path);
  } catch (const Error& error) {
    // Opening the file reports the error: other files can be read.
    if (error.kind() == ErrorKind::cancelled) throw;
  }
  if (is_folder) return add_folder(path);
  files_.push_back(path);
}

void InputFiles::add_folder(const std::string& folder) {
  if (options_.keep_folders) return files_.push_back(folder);
  if (options_.recursive) folders_.push_back(folder);
  std::vector<std::string> found;
  find_in_folder(folder, found);
  if (found.empty()) refuse_folder(folder);
  std::ranges::sort(found);
  std::ranges::move(found, std::back_inserter(files_));
}

void InputFiles::find_in_folder(const std::string& folder, std::vector<std::string>& found) {
  const Listing listing = listings_.at(folder);
  if (listing == nullptr) return;
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  for (const DirectoryEntry& entry : *listing) {
    if (entry.kind != FileKind::directory) {
      if (is_record_file_name(entry.name)) {
        found.push_back(prefix + entry.name);
      } else if (may_be_record_file_name(entry.name)) {
        left_out_.push_back(prefix + entry.name);
      }
    } else if (options_.recursive && !entry.is_link && !entry.name.starts_with('.') &&
               !entry.name.starts_with('_')) {
      find_in_folder(prefix + entry.name, found);
    }
  }
}

void InputFiles::refuse_folder(const std::string& folder) {
  const Listing listing = listings_.at(folder);
  const bool has_folders =
      listing && std::ranges::any_of(*listing, [](const DirectoryEntry& entry) {
        return entry.kind == FileKind::directory;
      });
  std::string reason = "no record files are in this folder";
  std::string hint = "names of record files contain \"tfrec\"; for others, use a pattern: FOLDER/*";
  if (options_.recursive) {
    reason += ", nor in the folders below it";
    hint += ", or FOLDER/**/*; links to folders are not followed";
  } else if (has_folders) {
    hint =
        "it has folders, which are read with --recursive (in Python, recursive=True), or by "
        "FOLDER/**/";
  }
  throw error_about(folder, ErrorKind::not_found, reason, hint);
}

bool InputFiles::add_matches(const std::vector<GlobMatch>& matches) {
  std::vector<std::string> found;
  for (const GlobMatch& match : matches) {
    if (match.is_directory && !options_.keep_folders) {
      if (options_.recursive) folders_.push_back(match.path);
      find_in_folder(match.path, found);
    } else {
      found.push_back(match.path);
    }
  }
  // With `recursive`, a folder and a folder below it may both match.
  std::ranges::sort(found);
  const auto [first, last] = std::ranges::unique(found);
  found.erase(first, last);
  std::ranges::move(found, std::back_inserter(files_));
  return !found.empty();
}

void InputFiles::add_pattern(const std::string& pattern) {
  std::vector<GlobMatch> matches = glob(listings_, pattern);
  remove_indexes(matches);
  if (add_matches(matches)) return;
  throw error_about(
      pattern, ErrorKind::not_found,
      matches.empty() ? "no file matches this pattern"
                      : "no record files are in the folders that match this pattern",
      matches.empty() ? "a pattern matches files, and folders if it ends with /" : "");
}

void InputFiles::add_words(const std::vector<std::string>& words, const std::string& name) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    if (!has_glob_characters(word)) paths.push_back(without_escapes(word));
  }
  const auto kinds = kinds_of(paths);
  size_t next = 0;  // in `paths`
  size_t missing = 0;
  std::string first_missing;
  for (const std::string& word : words) {
    bool exists = false;
    if (has_glob_characters(word)) {
      std::vector<GlobMatch> matches = glob(listings_, word);
      remove_indexes(matches);
      exists = add_matches(matches);
    } else if (const size_t i = next++; kinds[i]) {
      exists = true;
      if (*kinds[i] == FileKind::directory) {
        add_folder(paths[i]);
      } else {
        files_.push_back(paths[i]);
      }
    }
    if (!exists && missing++ == 0) first_missing = word;
  }
  if (missing == 0) return;
  throw error_about(name, ErrorKind::not_found,
                    grouped(missing) + " of " + grouped(words.size()) +
                        (words.size() == 1 ? " file does" : " files do") +
                        " not exist; the first is " + printable(first_missing));
}

std::optional<FileKind> InputFiles::kind_of(const std::string& path) {
  const auto status = file_system_.status(path);
  return status ? std::optional(status->kind) : std::nullopt;
}

std::vector<std::optional<FileKind>> InputFiles::kinds_of(const std::vector<std::string>& paths) {
  // The folder and the name of a path; the name is empty if no listing has it.
  const auto parts = [](std::string_view path) {
    const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
    const bool is_special = path.substr(name) == "." || path.substr(name) == "..";
    return std::pair(path.substr(0, name), is_special ? std::string_view() : path.substr(name));
  };
  std::map<std::string_view, size_t> counts;
  for (const std::string& path : paths) counts[parts(path).first] += 1;
  std::vector<std::optional<FileKind>> kinds;
  for (const std::string& path : paths) {
    const auto [folder, name] = parts(path);
    size_t& count = counts[folder];
    if (count > kMaxRequests && !name.empty()) {
      try {
        const Listing listing = listings_.at(std::string(folder));
        const DirectoryEntry* const entry = listing ? find_entry(*listing, name) : nullptr;
        kinds.push_back(entry ? std::optional(entry->kind) : std::nullopt);
        continue;
      } catch (const Error& error) {
        // A folder whose files can be opened by name, but that can't be listed.
        if (error.kind() != ErrorKind::permission_denied) throw;
        count = 0;
      }
    }
    kinds.push_back(kind_of(path));
  }
  return kinds;
}

// The set that a shard is of: what comes before its number in "x-00001-of-00004.gz", and "00004".
std::optional<std::pair<std::string_view, std::string_view>> shard_set_of(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789", kOf = "-of-";
  const size_t of = path.rfind(kOf);
  if (of == path.npos || of == 0) return std::nullopt;
  const size_t dash = path.find_last_not_of(kDigits, of - 1);
  const std::string_view rest = path.substr(of + kOf.size());
  const std::string_view shards = rest.substr(0, rest.find_first_not_of(kDigits));
  if (dash == path.npos || dash == of - 1 || path[dash] != '-' || shards.empty()) {
    return std::nullopt;
  }
  return std::pair(path.substr(0, dash), shards);
}

std::vector<std::string> shards_of_two_sets(const std::vector<std::string>& files) {
  std::map<std::string_view, const std::string*> first;  // by what comes before the number
  for (const std::string& file : files) {
    const auto set = shard_set_of(file);
    if (!set) continue;
    const std::string& other = *first.try_emplace(set->first, &file).first->second;
    if (shard_set_of(other)->second != set->second) return {other, file};
  }
  return {};
}

// "a, b, c, ..."
std::string first_of(const std::vector<std::string>& paths) {
  constexpr size_t kNamed = 3;
  std::string names;
  for (size_t i = 0; i < std::min(paths.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + printable(paths[i]);
  }
  return paths.size() > kNamed ? names + ", ..." : names;
}

}  // namespace

std::vector<std::string> find_input_files(FileSystem& file_system,
                                          const std::vector<std::string>& names,
                                          const InputFilesOptions& options) {
  return find_files_and_folders(file_system, names, options).files;
}

FilesAndFolders find_files_and_folders(FileSystem& file_system,
                                       const std::vector<std::string>& names,
                                       const InputFilesOptions& options) {
  // One name without braces and shards needs each folder once.
  const bool keeps_listings =
      names.size() != 1 || names.front().find_first_of("{@") != names.front().npos;
  InputFiles files(file_system, options, keeps_listings);
  const std::set<std::string_view> all(names.begin(), names.end());
  const auto contains = [&](std::string_view name) { return all.contains(name); };
  std::vector<std::string> indexes;
  for (const std::string& name : names) {
    if (is_index_of_another(name, contains)) {
      indexes.push_back(name);
    } else {
      files.add(name);
    }
  }
  FilesAndFolders found = files.take();
  found.indexes = std::move(indexes);
  found.mixed = shards_of_two_sets(found.files);
  return found;
}

std::string left_out_note(const FilesAndFolders& found) {
  std::string note;
  if (!found.indexes.empty()) {
    note = "left out " + first_of(found.indexes) +
           (found.indexes.size() == 1 ? ": the index of another input"
                                      : ": the indexes of other inputs");
  }
  // Each once, and none that another name stands for.
  const auto same = [](const std::string& path) {
    return is_url(path) ? path : std::filesystem::path(path).lexically_normal().string();
  };
  std::set<std::string> taken;
  if (!found.left_out.empty()) {
    std::ranges::transform(found.files, std::inserter(taken, taken.end()), same);
  }
  std::vector<std::string> left_out = found.left_out;
  std::erase_if(left_out,
                [&](const std::string& path) { return !taken.insert(same(path)).second; });
  if (!left_out.empty()) {
    const size_t count = left_out.size();
    note += (note.empty() ? "left out " : "; left out ") + grouped(count) +
            (count == 1 ? " file" : " files") + " of a folder, " + first_of(left_out) +
            ": names of record files contain \"tfrec\"; to read others, name them, or use a "
            "pattern: FOLDER/*";
  }
  if (!found.mixed.empty()) {
    note += (note.empty() ? "" : "; ") + printable(found.mixed[0]) + " and " +
            printable(found.mixed[1]) +
            " are of two sets of shards, and both sets are read: NAME@N names one";
  }
  return note;
}

}  // namespace recordpipe
