// Writes TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct RecordWriteOptions {
  Compression compression = Compression::none;
  // gzip, zlib: 0 (stored) to 9; zstd: 1 to 22. Ignored without compression.
  int compression_level = 6;
  // With a sink: records are collected up to this number of bytes (default 0: each record is
  // written to the sink at once). Pieces that are larger are not copied.
  size_t buffer_size = 0;
};

// Appends the framed record to `out`, for callers that frame records in parallel
// (RecordWriter::write_framed).
void append_framed(std::span<const std::byte> data, std::string& out);

// Writes records in order. Not thread-safe. With a path, the file appears complete at close() or
// not at all (AtomicFile). With a sink (not owned), close() leaves the sink open. Compresses on the
// caller's thread (parallel_deflate.h uses several). After an exception, and after close(), all
// calls throw Error{invalid_argument}.
class RecordWriter {
 public:
  // Throw Error{invalid_argument} for a compression_level out of range. With a path, also the
  // errors of AtomicFile's constructor, for example Error{busy} while another writer has the file.
  RecordWriter(FileSystem& file_system, const std::string& path, RecordWriteOptions options = {});
  explicit RecordWriter(ByteSink& sink, RecordWriteOptions options = {});
  ~RecordWriter();
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;

  void write(std::span<const std::byte> data);
  // Writes a record that is given as consecutive pieces.
  void write_pieces(std::span<const std::span<const std::byte>> pieces);
  // Writes `count` records framed by append_framed, without copying them: pass many records per
  // call.
  void write_framed(std::span<const std::byte> framed, uint64_t count);
  // Flushes; with a path, completes and syncs the partial file. Then only close() may follow, which
  // renames it: for several files that must appear together.
  void finish();
  // finish(), then commits the file. Must be called once, after the last record.
  void close();

  uint64_t records() const;
  uint64_t bytes() const;  // framed, before compression

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
