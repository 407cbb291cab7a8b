// Reads a CIFAR archive in one streaming pass: gunzip, untar, parse each batch.
//
// Supports the published archives and repacked archives: CIFAR-10 and CIFAR-100, as pickles
// ("python") or records ("binary"), with the files in any order and in any single directory,
// compressed with gzip or uncompressed. The first byte of a batch distinguishes pickles from
// records: a pickle starts with 0x80, which is larger than any label.
//
// Member names are only compared with the known names, never used as paths. All other members are
// skipped, including absolute paths and paths that contain "..". Files named "train" or "test"
// (CIFAR-100's names) are ignored in a CIFAR-10 archive. The total size and the number of members
// are limited (TarLimits).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Returns the names of the batches in their canonical order. CIFAR-10: data_batch_1 to
// data_batch_5, test_batch; CIFAR-100: train, test.
const std::vector<std::string_view>& cifar_batch_names(CifarDataset dataset);

struct CifarArchiveKind {
  CifarDataset dataset = CifarDataset::cifar10;
  bool binary = false;  // true: records; false: pickles
};

// Returns the name of the directory in the published archive, for example "cifar-10-batches-py".
std::string_view cifar_folder_name(const CifarArchiveKind& kind);

// Called with each batch, in the archive's order; `place` is the batch's index in
// cifar_batch_names(kind.dataset). An exception thrown by the function ends the reading.
using CifarBatchFunction =
    std::function<void(const CifarArchiveKind& kind, size_t place, CifarBatch batch)>;

// Reads `archive` on one background thread, decompresses it on another, and calls `on_batch` on the
// caller's thread. Returns after the last byte of the archive was read and checked, including
// gzip's trailer. `extracted` (default: null) receives all known files.
//
// Throws Error, possibly after some calls of `on_batch`: the errors of inflate(), TarReader,
// read_cifar_pickle() and read_cifar_binary(); unsupported for another archive format (xz, zip,
// ...); not_found if batches are missing; corrupted for a duplicate batch, a link, or a batch that
// does not match the batches before it (another directory, a pickle among records). Paths are
// "ARCHIVE:MEMBER", offsets are relative to the member.
CifarArchiveKind read_cifar_archive(std::unique_ptr<ByteSource> archive,
                                    const CifarBatchFunction& on_batch,
                                    ExtractedFolder* extracted = nullptr);

// URLs, sizes and checksums of the published archives.
// https://www.cs.toronto.edu/~kriz/cifar.html
struct PublishedArchive {
  std::string_view url;
  uint64_t bytes;
  std::string_view sha256;
};

// The first entry is the default download.
inline constexpr std::array<PublishedArchive, 4> kPublishedArchives = {{
    {"https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", 170'498'071,
     "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"},
    {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170'052'171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    {"https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", 169'001'437,
     "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"},
    {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168'513'733,
     "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"},
}};

}  // namespace recordpipe
