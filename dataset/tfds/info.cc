// dataset_info.json, and the files that it names.
#include "recordpipe/tfds/info.h"

#include <algorithm>
#include <map>

#include "dataset/tfds/json.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

constexpr size_t kMaxFiles = 1'000'000;
constexpr std::string_view kInfoFile = "dataset_info.json";
constexpr std::string_view kDefaultTemplate = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";

std::string digits(uint64_t number, size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// The names that a template may use, in braces.
using Variables = std::map<std::string, std::string, std::less<>>;

Variables shard_variables(uint64_t index, uint64_t count) {
  const size_t width = std::max<size_t>(std::to_string(count).size(), 5);
  const std::string x = digits(index, width);
  const std::string y = digits(count, width);
  return {{"SHARD_INDEX", x}, {"NUM_SHARDS", y}, {"SHARD_X_OF_Y", x + "-of-" + y}};
}

// Replaces {NAME}; {{ and }} are braces.
std::string filled(std::string_view text, const Variables& variables, const JsonObject& split) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "{{" || text.substr(i, 2) == "}}") {
      name += text[i++];
    } else if (text[i] == '{') {
      const size_t end = text.find('}', i);
      const auto variable =
          end == text.npos ? variables.end() : variables.find(text.substr(i + 1, end - i - 1));
      if (variable == variables.end()) {
        split.fail("the file name template \"" + printable(text) + "\" is not supported",
                   ErrorKind::unsupported);
      }
      name += variable->second;
      i = end;
    } else {
      name += text[i];
    }
  }
  return name;
}

// Files are inside of the folder.
void check_name(const std::string& name, const JsonObject& split) {
  bool is_outside = name.empty() || name.front() == '/' || name.find('\0') != name.npos;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    is_outside = is_outside || name.substr(begin, end - begin) == "..";
    begin = end + 1;
  }
  if (is_outside) split.fail("the file name \"" + printable(name) + "\" is outside of the folder");
}

Split read_split(const JsonObject& object, const Info& info, const std::string& format,
                 size_t& files) {
  Split split{.name = object.text("name")};
  if (split.name.empty()) object.fail("a split without a name");
  const int64_t bytes = object.integer("numBytes");
  if (bytes < 0) object.fail("a negative size");
  split.bytes = static_cast<uint64_t>(bytes);
  uint64_t size = 0;
  for (const int64_t length : object.integers("shardLengths")) {
    if (length < 0 || length > INT64_MAX - static_cast<int64_t>(size)) {
      object.fail("a shard of " + std::to_string(length) + " Examples");
    }
    size += static_cast<uint64_t>(length);
    split.shard_lengths.push_back(static_cast<uint64_t>(length));
  }
  if (split.shard_lengths.empty() && object.integer("numShards") > 0) {
    object.fail("a split without the lengths of its shards, as TFDS wrote it before 2020",
                ErrorKind::unsupported, "prepare the data set again with a newer TFDS");
  }
  files += split.shard_lengths.size();
  if (files > kMaxFiles) object.fail("more than 1,000,000 files", ErrorKind::limit_exceeded);

  std::string pattern = object.text("filepathTemplate");
  if (pattern.empty()) pattern = kDefaultTemplate;
  const size_t count = split.shard_lengths.size();
  for (size_t i = 0; i < count; ++i) {
    Variables variables = shard_variables(i, count);
    variables.insert({{"DATASET", info.name}, {"SPLIT", split.name}, {"FILEFORMAT", format}});
    std::string name = filled(pattern, variables, object);
    check_name(name, object);
    split.files.push_back(info.folder + "/" + name);
  }
  return split;
}

bool has_info(FileSystem& file_system, const std::string& folder) {
  return file_system.status(folder + "/" + std::string(kInfoFile)).has_value();
}

std::vector<std::string> folders_in(FileSystem& file_system, const std::string& folder) {
  std::vector<std::string> folders;
  for (const std::string& name : file_system.list(folder)) {
    const std::string path = folder + "/" + name;
    const auto status = file_system.status(path);
    if (status && status->kind == FileKind::directory) folders.push_back(path);
  }
  return folders;
}

}  // namespace

uint64_t Split::size() const {
  uint64_t size = 0;
  for (const uint64_t length : shard_lengths) size += length;
  return size;
}

const Split* Info::find(std::string_view split) const {
  for (const Split& each : splits) {
    if (each.name == split) return &each;
  }
  return nullptr;
}

std::string find_folder(const std::string& folder, FileSystem& file_system) {
  if (has_info(file_system, folder)) return folder;
  std::vector<std::string> found;
  const auto status = file_system.status(folder);
  if (status && status->kind == FileKind::directory) {
    for (const std::string& child : folders_in(file_system, folder)) {
      if (has_info(file_system, child)) {
        found.push_back(child);
        continue;
      }
      for (const std::string& grandchild : folders_in(file_system, child)) {
        if (has_info(file_system, grandchild)) found.push_back(grandchild);
      }
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw Error({.kind = ErrorKind::not_found,
                 .path = folder,
                 .reason = status ? "no data set of TFDS: it has no dataset_info.json, and no "
                                    "folder below it has one"
                                  : "no such folder",
                 .hint = "name the folder NAME/VERSION or NAME/CONFIG/VERSION of a data set"});
  }
  std::string names;
  for (const std::string& each : found) {
    names += (names.empty() ? "" : ", ") + each.substr(folder.size() + 1);
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = folder,
               .reason = "several data sets: " + printable(names),
               .hint = "name one of them"});
}

Info read_info(const std::string& folder, FileSystem& file_system) {
  const std::string path = folder + "/" + std::string(kInfoFile);
  const Json json = parse_json(read_text(file_system, path), path);
  const JsonObject object(json, path, "");
  Info info{.folder = folder,
            .name = object.text("name"),
            .config = object.text("configName"),
            .version = object.text("version"),
            .description = object.text("description"),
            .splits = {}};
  std::string format = object.text("fileFormat");
  if (format.empty()) format = "tfrecord";
  if (format != "tfrecord") {
    object.fail("the files have the format " + printable(format) + ", not tfrecord",
                ErrorKind::unsupported, "convert them with `tfds convert_format`");
  }
  const Json* splits = object.find("splits");
  if (!splits) return info;
  if (!splits->is_array()) object.fail("\"splits\" is not a list");
  size_t files = 0;
  for (const Json& split : *splits) {
    info.splits.push_back(read_split(object.object(split, "splits"), info, format, files));
    for (size_t i = 0; i + 1 < info.splits.size(); ++i) {
      if (info.splits[i].name == info.splits.back().name) {
        object.fail("the split \"" + printable(info.splits[i].name) + "\" twice");
      }
    }
  }
  return info;
}

}  // namespace recordpipe::tfds
