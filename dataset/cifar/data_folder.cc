#include "recordpipe/cifar/data_folder.h"

#include <algorithm>
#include <utility>

#include "dataset/record/shard_set.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr std::string_view kSuffix = ".tfrecords";

bool is_number(std::string_view text) {
  return text.size() == 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string split_file_name(std::string_view split, size_t shard, size_t shards) {
  return shards > 1 ? shard_name(split, shard, shards, kSuffix)
                    : std::string(split).append(kSuffix);
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
  if (file_system.is_directory(data_dir)) {
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
    if (!file_system.is_directory(path_of(name))) files.others.push_back(path_of(name));
  }
  return files;
}

namespace {

constexpr size_t kMaxSize = 8192;  // the file is untrusted input

std::string note_in(const std::string& data_dir) { return data_dir + "/source.txt"; }

}  // namespace

void note_source(FileSystem& file_system, const std::string& data_dir, const std::string& archive,
                 const std::string& sha256) {
  const std::string text = archive + (sha256.empty() ? "" : " (SHA-256 " + sha256 + ")") + "\n";
  AtomicFile file(file_system, note_in(data_dir));
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::string noted_source(FileSystem& file_system, const std::string& data_dir) {
  const std::string path = note_in(data_dir);
  if (!regular_file_size(file_system, path)) return {};
  std::array<char, kMaxSize> text;
  const std::unique_ptr<ByteSource> file = file_system.open_source(path);
  const size_t size = read_fully(*file, std::as_writable_bytes(std::span(text)));
  std::string_view note(text.data(), size);
  if (note.ends_with('\n')) note.remove_suffix(1);
  return printable(note);
}

void remove_source_note(FileSystem& file_system, const std::string& data_dir) {
  const std::string path = note_in(data_dir);
  if (!file_system.status(path)) return;
  file_system.remove(path);
  file_system.sync_directory(data_dir);
}

namespace {

constexpr std::string_view kText =
    "The images in this folder were drawn by program (generate_cifar10_tfrecords --synthetic):\n"
    "figures reached on them say nothing about CIFAR-10.\n";

std::string mark_in(const std::string& data_dir) { return data_dir + "/synthetic.txt"; }

}  // namespace

bool is_marked_synthetic(FileSystem& file_system, const std::string& data_dir) {
  return file_system.status(mark_in(data_dir)).has_value();
}

void mark_synthetic(FileSystem& file_system, const std::string& data_dir) {
  AtomicFile file(file_system, mark_in(data_dir));
  file.write(std::as_bytes(std::span(kText)));
  file.commit();
}

void unmark_synthetic(FileSystem& file_system, const std::string& data_dir) {
  file_system.remove(mark_in(data_dir));
}

FolderLock::FolderLock(FileSystem& file_system, const std::string& folder)
    : file_system_(file_system), path_(folder + "/.generate_cifar10_tfrecords.lock") {
  lock_ = file_system_.lock(path_);
}

FolderLock::~FolderLock() {
  try {
    file_system_.remove(path_);
  } catch (const Error&) {
    // The unlocked file may stay; the next conversion removes it.
  }
}

ExtractedFolder::ExtractedFolder(FileSystem& file_system, std::string parent)
    : file_system_(file_system), parent_(std::move(parent)) {}

ExtractedFolder::~ExtractedFolder() {
  try {
    forget();
  } catch (...) {
    // An empty directory may stay; the next conversion removes it.
  }
}

void ExtractedFolder::begin_file(std::string_view folder, std::string_view name) {
  if (files_.empty()) {
    path_ = parent_ + "/" + std::string(folder);
    file_system_.make_directories(path_);
  } else {
    files_.back()->finish();
  }
  files_.push_back(std::make_unique<AtomicFile>(file_system_, path_ + "/" + std::string(name)));
}

void ExtractedFolder::write(std::span<const std::byte> data) { files_.back()->write(data); }

void ExtractedFolder::forget() {
  if (files_.empty()) return;
  files_.clear();
  file_system_.remove_empty_directory(path_);
  path_.clear();
}

void ExtractedFolder::commit() {
  for (const auto& file : files_) file->commit();
  files_.clear();
}

void remove_abandoned_extraction(FileSystem& file_system, const std::string& folder) {
  if (!file_system.is_directory(folder)) return;
  remove_abandoned_partials(file_system, folder, [](std::string_view) { return true; });
  file_system.remove_empty_directory(folder);
}

}  // namespace recordpipe
