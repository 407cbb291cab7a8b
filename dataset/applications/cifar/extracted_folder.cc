#include "recordpipe/cifar/extracted_folder.h"

#include <utility>

namespace recordpipe {

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
  const auto status = file_system.status(folder);
  if (!status || status->kind != FileKind::directory) return;
  remove_abandoned_partials(file_system, folder, [](std::string_view) { return true; });
  file_system.remove_empty_directory(folder);
}

}  // namespace recordpipe
