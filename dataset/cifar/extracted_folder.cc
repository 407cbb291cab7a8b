#include "dataset/cifar/extracted_folder.h"

#include <utility>

namespace recordpipe {

ExtractedFolder::ExtractedFolder(FileSystem& file_system, std::string parent)
    : file_system_(file_system), parent_(std::move(parent)) {}

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

void ExtractedFolder::commit() {
  for (const auto& file : files_) file->commit();
}

}  // namespace recordpipe
