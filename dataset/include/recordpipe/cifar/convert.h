// A CIFAR archive made into TFRecord files, in one pass.
//
// CIFAR-10: train is data_batch_1 to 4, validation data_batch_5, eval test_batch, each in its own
// order: 40,000, 10,000 and 10,000 records of the published archives. CIFAR-100 has no such
// batches: train is the first four fifths of its training file, validation the last fifth, eval its
// test file. A record is Example{image: bytes[3072], label: int64}, the image channel-major (1024
// red, 1024 green, 1024 blue); CIFAR-100 adds coarse_label and fine_label, and label is the fine
// one. The same archive gives the same bytes, however it is packed.
//
//     file ─ read, SHA-256 ─► inflate ─► untar, unpickle ─► frame, compress, write, sync
//            one thread       one        the caller's       one for each split that is complete
//
// Memory: the pixels of the batches that wait for the rest of their split, about 10 MiB of buffers,
// and the caps of pickle.h. In the published order that is train's, 123 MB.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/cifar/archive.h"
#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/progress.h"

namespace recordpipe {

struct CifarConvertOptions {
  Compression compression = Compression::none;
  int compression_level = 6;
  // Files a split is dealt to, in order (split_writer.h); 1 to kMaxCifarShards.
  size_t shards = 1;
  // Also leave what the published archive extracts to: cifar-10-batches-py/data_batch_1, ...
  bool keep_extracted = false;
  // The images were drawn by program: synthetic_mark.h's note stands in the folder before the first
  // of the files has its name, and goes when all are others. A process that is killed, or a
  // renaming that fails, leaves none unmarked.
  bool synthetic = false;
  // Compute the archive's SHA-256, for the report.
  bool hash = true;
  // Refuse the archive if it has another one than this (64 hexadecimal digits).
  std::optional<std::string> sha256 = {};
  // "convert", or "convert synthetic", in bytes of the archive.
  ProgressFunction progress = {};
  std::stop_token stop = {};
};

struct CifarFileReport {
  std::string path = {};
  uint64_t records = 0;
  uint64_t bytes = 0;
  double seconds = 0;  // spent on this file; others were worked on at the same time
};

struct CifarConvertReport {
  CifarArchiveKind kind = {};
  std::string sha256 = {};  // of the archive; empty where nobody asked
  std::vector<CifarFileReport> files = {};
  std::vector<std::string> removed = {};  // files of another number of shards that were there
  std::string extracted = {};             // the folder kept, if asked for
};

// Converts `archive` to files in `data_dir`, which exists, replacing what is there. No file gets
// its name before the whole archive has been read and checked and all of them are complete and
// synced; then all get theirs, one after the other, and files of the same splits in another number
// of shards are removed. source_note.h's note says what they were made from: it goes before the
// first of them has its name, and comes when all have theirs. Throws Error: what read_cifar_archive
// throws, checksum_mismatch, cancelled, busy if another process writes there, and what writing
// throws; then nothing has changed in `data_dir`, unless it was a renaming, or one of the notes,
// that failed.
CifarConvertReport convert_cifar(FileSystem& file_system, const std::string& archive,
                                 const std::string& data_dir,
                                 const CifarConvertOptions& options = {});

}  // namespace recordpipe
