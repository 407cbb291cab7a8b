// A CIFAR archive read in one pass: gunzip, untar, and every batch taken out of it as it comes by.
//
// Read are the published archives and what people make of them: CIFAR-10 and CIFAR-100, of pickles
// ("python") and of plain records ("binary"), their files in any order and in any one folder,
// compressed by gzip or not at all. Which of the two a batch is, its first byte says: a pickle
// starts with 0x80, which no label reaches.
//
// Names in an archive are compared with the known ones and used for nothing else. Everything but
// regular files under those names is passed over; a path with .. in it or from the root is not
// known. A file that happens to be called "train" or "test" does no harm among CIFAR-10's, which
// have no such names. There are budgets for bytes and members (TarLimits).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/cifar/extracted_folder.h"
#include "recordpipe/file.h"

namespace recordpipe {

// The batches of an archive by their place: CIFAR-10's data_batch_1 to 5, then test_batch;
// CIFAR-100's train, then test.
const std::vector<std::string_view>& cifar_batch_names(CifarDataset dataset);

struct CifarArchiveKind {
  CifarDataset dataset = CifarDataset::cifar10;
  bool binary = false;  // records, not pickles
};

// The folder that the published archive of this kind extracts to, "cifar-10-batches-py" for one.
std::string_view cifar_folder_name(const CifarArchiveKind& kind);

// Told of each batch, by its place in cifar_batch_names(kind.dataset), in the archive's order. An
// exception thrown from it ends the reading.
using CifarBatchFunction =
    std::function<void(const CifarArchiveKind& kind, size_t place, CifarBatch batch)>;

// Reads `archive` on a thread of its own, inflates it on another, and calls `on_batch` on this one.
// Returns after the last byte of the archive has been read and checked, gzip's trailer included.
// `extracted`, if any, is given every file that is known.
//
// Throws Error, whatever of the archive has been passed on by then: what inflate(), TarReader,
// read_cifar_pickle() and read_cifar_binary() throw; unsupported for an archive of another format
// (xz, zip, ...), with its name; not_found if batches are missing, with their
// names; corrupted for a batch that comes twice, is a link, or doesn't belong to the others
// (another folder, a pickle among records). Paths are "ARCHIVE:MEMBER", offsets in the member.
CifarArchiveKind read_cifar_archive(std::unique_ptr<ByteSource> archive,
                                    const CifarBatchFunction& on_batch,
                                    ExtractedFolder* extracted = nullptr);

}  // namespace recordpipe
