// Converts a CIFAR archive to TFRecord files, in one pass.
//
// CIFAR-10: train is data_batch_1 to 4, validation is data_batch_5, eval is test_batch, in the
// batches' order: 40,000, 10,000 and 10,000 records for the published archives. CIFAR-100: train is
// the first four fifths of the training file, validation is the last fifth, eval is the test file.
// A record is Example{image: bytes[3072], label: int64}, the image channel-major (1024 red, 1024
// green, 1024 blue); CIFAR-100 adds coarse_label and fine_label, and label is the fine label. The
// output depends only on the images, not on how the archive is packed.
//
//     file ─ read, SHA-256 ─► inflate ─► untar, unpickle ─► frame, compress, write, sync
//            1 thread         1 thread   caller's thread    1 thread per complete split
//
// Memory: the pixels of the batches whose split is incomplete (123 MB for train in the published
// order), about 10 MiB of buffers, and up to the limits of pickle.h.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/base/progress.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct CifarConvertOptions {
  Compression compression = Compression::none;
  int compression_level = 6;  // gzip, zlib: 0 to 9; zstd: 1 to 22
  // Number of files per split, with consecutive records; 1 to kMaxCifarShards.
  size_t shards = 1;
  // Also write the files of the archive: cifar-10-batches-py/data_batch_1, ...
  bool keep_extracted = false;
  // The images are synthetic. The mark of data_folder.h is written before the first file gets its
  // name, and removed after all files were replaced by real images. Synthetic files are therefore
  // always marked, even after a crash.
  bool synthetic = false;
  // Compute the SHA-256 of the archive for the report.
  bool hash = true;
  // The expected SHA-256 of the archive (64 hexadecimal digits). Default: not checked.
  std::optional<std::string> sha256 = {};
  // Reports progress as activity "convert", or "convert synthetic" if `synthetic` is set;
  // Progress::done counts the bytes of the archive that were read.
  ProgressFunction progress = {};
  std::stop_token stop = {};
};

struct CifarFileReport {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;
  double seconds = 0;  // elapsed time for this file; files are written concurrently
};

struct CifarConvertReport {
  CifarArchiveKind kind = {};
  std::string sha256 = {};  // of the archive; empty if it was not computed
  std::vector<CifarFileReport> files = {};
  std::vector<std::string> removed = {};  // old files with another number of shards
  std::string extracted = {};             // the directory written by keep_extracted
};

// Converts `archive` to files in `data_dir`, which must exist; replaces existing files. Files get
// their names only after the whole archive was read and checked and all files are complete and
// synced. They are then renamed one after another, and files of the same splits with another number
// of shards are removed. The note of data_folder.h is removed before the first rename and written
// after the last rename. Throws Error: the errors of read_cifar_archive(), checksum_mismatch,
// cancelled, busy if another process writes the files, and write errors. `data_dir` is then
// unchanged, unless a rename or the writing of a note or mark failed.
CifarConvertReport convert_cifar(FileSystem& file_system, const std::string& archive,
                                 const std::string& data_dir,
                                 const CifarConvertOptions& options = {});

}  // namespace recordpipe
