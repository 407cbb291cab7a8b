// Builds archives and small batches in memory. Each field of a tar header can be set, so that tests
// can write wrong headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

struct TarEntry {
  std::string name = {};
  std::string content = {};
  char type = '0';  // '1' a hard link, '2' a symbolic link, '3' a device, '5' a folder, '6' a FIFO
  std::string link = {};  // the target of a link
  int64_t size = -1;      // the size in the header; -1: the content's size
};

// Returns the header, the content and the padding.
std::string tar_bytes(const TarEntry& entry);
// Returns all entries and the end-of-archive marker.
std::string tar_bytes(const std::vector<TarEntry>& entries);
std::string gzip_bytes(std::string_view content);

// Makes images whose bytes and labels depend only on `number` and the row.
CifarBatch make_batch(CifarDataset dataset, size_t rows, int number);

std::string pickle_bytes(const CifarBatch& batch);  // pickled as in the published archives
std::string binary_bytes(const CifarBatch& batch);

// The members of small CIFAR-10 archives, in the published order. Each batch has `rows` images and
// its number in cifar_batch_names.
std::vector<TarEntry> python_members(size_t rows);
std::vector<TarEntry> binary_members(size_t rows);
// CIFAR-100: `rows` training images, and a fifth as many test images.
std::vector<TarEntry> cifar100_python_members(size_t rows);
std::vector<TarEntry> cifar100_binary_members(size_t rows);

inline std::string archive_bytes(const std::vector<TarEntry>& members) {
  return gzip_bytes(tar_bytes(members));
}

}  // namespace recordpipe
