#include "recordpipe/cifar/split_files.h"

#include <algorithm>
#include <cstdio>

namespace recordpipe {
namespace {

constexpr std::string_view kSuffix = ".tfrecords";

bool is_number(std::string_view text) {
  return text.size() == 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string split_file_name(std::string_view split, size_t shard, size_t shards) {
  std::string name(split);
  if (shards > 1) {
    std::array<char, 48> numbers;
    std::snprintf(numbers.data(), numbers.size(), "-%05zu-of-%05zu", shard, shards);
    name += numbers.data();
  }
  return name.append(kSuffix);
}

bool is_split_file_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  return std::ranges::any_of(kCifarSplits, [&](std::string_view split) {
    if (!name.starts_with(split)) return false;
    const std::string_view shard = name.substr(split.size());  // "" or "-00000-of-00000"
    return shard.empty() ||
           (shard.size() == 15 && shard[0] == '-' && is_number(shard.substr(1, 5)) &&
            shard.substr(6, 4) == "-of-" && is_number(shard.substr(10)));
  });
}

CifarSplitFiles find_split_files(FileSystem& file_system, const std::string& data_dir,
                                 size_t shards) {
  std::vector<std::string> names;
  if (const auto status = file_system.status(data_dir);
      status && status->kind == FileKind::directory) {
    names = file_system.list(data_dir);
  }
  const auto path_of = [&](const std::string& name) { return data_dir + "/" + name; };
  CifarSplitFiles files;
  std::vector<std::string> wanted;
  for (const std::string_view split : kCifarSplits) {
    for (size_t shard = 0; shard < shards; ++shard) {
      wanted.push_back(split_file_name(split, shard, shards));
      const bool there = std::ranges::binary_search(names, wanted.back());
      (there ? files.present : files.missing).push_back(path_of(wanted.back()));
    }
  }
  for (const std::string& name : names) {
    if (!is_split_file_name(name) || std::ranges::count(wanted, name)) continue;
    const auto status = file_system.status(path_of(name));
    if (!status || status->kind != FileKind::directory) files.others.push_back(path_of(name));
  }
  return files;
}

}  // namespace recordpipe
