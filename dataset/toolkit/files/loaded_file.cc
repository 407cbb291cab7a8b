#include "dataset/toolkit/files/loaded_file.h"

#include <algorithm>

namespace recordpipe {

LoadedFile::LoadedFile(const RandomAccessFile& file)
    : path_(file.path()),
      content_(std::max<size_t>(file.size(), 1)),
      size_(file.read_at(0, content_.part(0, file.size()))) {}

std::span<const std::byte> LoadedFile::read(uint64_t offset, size_t size,
                                            std::span<std::byte> /*scratch*/) const {
  const uint64_t begin = std::min<uint64_t>(offset, size_);
  return bytes().subspan(begin, std::min<uint64_t>(size, size_ - begin));
}

std::unique_ptr<RandomAccessFile> loaded_if_small(std::unique_ptr<RandomAccessFile> file) {
  if (file->size() > kMaxLoaded) return file;
  return std::make_unique<LoadedFile>(*file);
}

}  // namespace recordpipe
