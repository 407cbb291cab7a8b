// Writing TFRecord files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/atomic_file.h"
#include "recordpipe/compression.h"
#include "recordpipe/file.h"

namespace recordpipe {

struct RecordWriteOptions {
  Compression compression = Compression::none;
  int compression_level = 6;  // 0 (stored) to 9; zstd: 1 to 22
};

// Appends one framed record to `out`: for callers that frame records in parallel and write the
// bytes themselves (RecordWriter::write_framed).
void append_framed(std::span<const std::byte> data, std::string& out);

// Writes records in order. One thread at a time. With a path, the file appears whole at close() or
// not at all (AtomicFile); with a sink, bytes go there as they come and close() leaves it open.
class RecordWriter {
 public:
  RecordWriter(FileSystem& file_system, const std::string& path, RecordWriteOptions options = {});
  explicit RecordWriter(ByteSink& sink, RecordWriteOptions options = {});
  ~RecordWriter();
  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;

  void write(std::span<const std::byte> data);
  // Bytes that append_framed made: `count` records. They are passed on without a copy: hand in many
  // records at a time.
  void write_framed(std::span<const std::byte> framed, uint64_t count);
  // Flushes, and commits a file made from a path. Once; nothing may be written afterwards.
  void close();

  uint64_t records() const;
  uint64_t bytes() const;  // framed, before compression

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
