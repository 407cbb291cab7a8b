// Tells record files from other files by their names (input_files.h).
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "dataset/base/lower_case.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe {
namespace {

constexpr std::array<std::string_view, 9> kOtherEndings = {
    ".idx", ".index", ".steps", ".md5", ".sha1", ".sha256", ".crc", ".json", ".txt"};
// Of files that nobody takes for records.
constexpr std::array<std::string_view, 36> kOtherFormats = {
    ".md",   ".html",  ".htm",    ".pdf",     ".rst",   ".log",   ".out",   ".err", ".py",
    ".sh",   ".yaml",  ".yml",    ".toml",    ".xml",   ".pbtxt", ".proto", ".csv", ".tsv",
    ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".npy",   ".npz",   ".tar", ".tgz",
    ".zip",  ".jpg",   ".jpeg",   ".png",     ".gif",   ".webp",  ".mp4",   ".wav", ".partial"};
constexpr std::array<std::string_view, 5> kCompressedEndings = {".gz", ".gzip", ".zlib", ".zst",
                                                                ".zstd"};

std::string_view without_compression(std::string_view name) {
  for (const std::string_view ending : kCompressedEndings) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

// Removes a number of at least five digits, and `before` it, from the end.
bool remove_number(std::string_view& name, std::string_view before) {
  constexpr size_t kFewestDigits = 5;
  const size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);  // npos + 1 is 0
  const std::string_view rest = name.substr(0, name.size() - digits);
  if (digits < kFewestDigits || !rest.ends_with(before)) return false;
  name = rest.substr(0, rest.size() - before.size());
  return true;
}

// "train-00000-of-01024". With another ending before the number, the file has another format:
// "model.data-00000-of-00001".
bool is_bare_shard(std::string_view name) {
  name = without_compression(name);
  return remove_number(name, "-of-") && remove_number(name, "-") &&
         without_compression(name).find('.') == name.npos;
}

bool has_ending(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

bool is_hidden(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

}  // namespace

bool is_record_file_name(std::string_view name) {
  if (is_hidden(name)) return false;
  const std::string lower = lower_case(name);
  return !has_ending(lower, kOtherEndings) &&
         (lower.find("tfrec") != lower.npos || is_bare_shard(lower));
}

bool may_be_record_file_name(std::string_view name) {
  if (is_hidden(name)) return false;
  const std::string lower = lower_case(name);
  return !has_ending(lower, kOtherEndings) &&
         !has_ending(without_compression(lower), kOtherFormats);
}

}  // namespace recordpipe
