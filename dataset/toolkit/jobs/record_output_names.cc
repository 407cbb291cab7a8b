// The names of the files that a RecordOutput writes and replaces.
#include <algorithm>
#include <map>

#include <fnmatch.h>

#include "dataset/record/shard_set.h"
#include "dataset/toolkit/files/file_name.h"
#include "dataset/toolkit/jobs/record_output.h"

namespace recordpipe {
namespace {

// The path of the set of files of a split.
std::string split_path(const std::string& path, const std::string& split) {
  const size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  if (name == path.size()) return path + split;
  size_t stem = path.size() - compression_extension(std::string_view(path).substr(name));
  for (const std::string_view extension : {".tfrecord", ".tfrecords"}) {
    const std::string_view file = std::string_view(path).substr(name, stem - name);
    if (file.size() > extension.size() && file.ends_with(extension)) stem -= extension.size();
  }
  return path.substr(0, stem) + '-' + split + path.substr(stem);
}

std::string set_path(const RecordOutputOptions& options, size_t split) {
  const std::vector<SplitPart>& parts = options.split.parts;
  return parts.empty() ? options.path : split_path(options.path, parts[split].name);
}

void find_replaced(FileSystem& files, const std::string& path, size_t shards,
                   std::vector<std::string>& found) {
  const std::string number = "[0-9][0-9][0-9][0-9][0-9]";
  const std::string pattern = '-' + number + "-of-" + (shards > 0 ? shard_number(shards) : number);
  const size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  const std::string_view start = std::string_view(path).substr(name);
  const std::string folder = parent_directory(path);
  if (!files.status(folder)) return;  // writing there fails with the reason
  for (const DirectoryEntry& entry : files.list_entries_with_prefix(folder, start)) {
    const std::string& other = entry.name;
    if (!other.starts_with(start)) continue;
    if (::fnmatch(pattern.c_str(), other.c_str() + start.size(), 0) != 0) continue;
    found.push_back(path.substr(0, name) + other);
  }
}

}  // namespace

Compression compression_for(std::string_view path, std::optional<Compression> given) {
  static const std::map<std::string_view, Compression> kEndings = {{".gz", Compression::gzip},
                                                                   {".gzip", Compression::gzip},
                                                                   {".zlib", Compression::zlib},
                                                                   {".zst", Compression::zstd},
                                                                   {".zstd", Compression::zstd}};
  if (given) return *given;
  for (const auto& [ending, compression] : kEndings) {
    if (path.ends_with(ending)) return compression;
  }
  return Compression::none;
}

std::string output_path(const RecordOutputOptions& options, size_t split, size_t file,
                        size_t files) {
  const std::string path = set_path(options, split);
  return options.many() ? shard_name(path, file, files) : path;
}

std::vector<std::string> output_paths(const RecordOutputOptions& options) {
  std::vector<std::string> paths;
  const size_t files = std::max<size_t>(1, options.shards);
  for (size_t split = 0; split < options.sets(); ++split) {
    for (size_t file = 0; file < files; ++file) {
      paths.push_back(output_path(options, split, file, files));
    }
  }
  return paths;
}

std::vector<std::string> replaced_files(FileSystem& files, const RecordOutputOptions& options) {
  if (!options.many()) return output_paths(options);
  std::vector<std::string> found;
  for (size_t split = 0; split < options.sets(); ++split) {
    find_replaced(files, set_path(options, split), options.shards, found);
  }
  return found;
}

}  // namespace recordpipe
