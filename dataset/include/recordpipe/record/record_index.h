// Reads, writes and checks the index files of uncompressed TFRecord files. The format is that of
// DALI's tfrecord2idx and of the Python package tfrecord (FORMAT.md): one ASCII line "START SIZE\n"
// per record. START is the offset of the record's header, SIZE the record's size in bytes,
// including its 16 bytes of framing.
//
//     RecordIndexReader index(files, record_index_path(path));
//     const auto file = files.open_random(path);
//     if (const auto entry = index.entry(41)) use(read_indexed_record(*file, *entry));
//
// An index is untrusted input: each entry is compared with the file before use. The reader does not
// keep entries in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

struct RecordIndexEntry {
  uint64_t offset = 0;              // of the record's header
  uint64_t size = kRecordOverhead;  // header, data and footer

  uint64_t length() const { return size - kRecordOverhead; }  // of the data
  uint64_t end() const { return offset + size; }              // offset of the next record
  bool operator==(const RecordIndexEntry&) const = default;
};

// Returns the path of the index of the file at `path`: PATH.idx. A URL keeps its query (for
// example, of a presigned URL): https://host/a?token=... gives https://host/a.idx?token=...
std::string record_index_path(const std::string& path);

// Reads the entries in order. The first record must start at 0 and each further record at the end
// of the record before it; each has at least 16 bytes. Any other text (extra blanks, signs, leading
// zeros) throws Error{corrupted}; an index that ends inside a line throws Error{truncated}. The
// error has the offset of the line in the index, and the line number in its reason. Not
// thread-safe.
class RecordIndexReader {
 public:
  RecordIndexReader(FileSystem& file_system, const std::string& path);
  explicit RecordIndexReader(std::unique_ptr<ByteSource> source);

  // Returns the next entry; nullopt at the end and on every later call.
  std::optional<RecordIndexEntry> read();
  // Returns entry `n`, counted from 0, after reading all entries before it; nullopt if the index
  // has at most `n` entries. Throws Error{invalid_argument} if the entry was read before.
  std::optional<RecordIndexEntry> entry(uint64_t n);

  // records() is the number of entries read so far, end() the end of the last record read. After
  // the last entry, end() is the size of the indexed file.
  uint64_t records() const { return records_; }
  uint64_t end() const { return end_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::optional<std::string_view> next_line();
  [[noreturn]] void refuse(std::string reason) const;

  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t used_ = 0;           // bytes of the buffer that were parsed
  size_t filled_ = 0;         // bytes in the buffer
  uint64_t line_offset_ = 0;  // of the last line
  uint64_t next_offset_ = 0;  // of the next line
  uint64_t records_ = 0;
  uint64_t end_ = 0;
};

// Writes the entries of consecutive records, the first of which starts at offset 0. Not
// thread-safe.
class RecordIndexWriter {
 public:
  // `sink` is not owned.
  explicit RecordIndexWriter(ByteSink& sink);

  // Adds a record of `size` bytes, including its framing. Throws Error{invalid_argument} if `size`
  // is less than 16.
  void write(uint64_t size);
  // Writes the buffered entries and leaves the sink open. Must be called after the last entry.
  void close();

  uint64_t records() const { return records_; }

 private:
  void flush();

  ByteSink& sink_;
  std::string buffer_;
  uint64_t records_ = 0;
  uint64_t end_ = 0;
};

// Reads the data of the record at `entry` with one read. Throws Error{corrupted} if `file` has no
// such record there (the file is damaged, or the index belongs to another file), Error{truncated}
// if the file was truncated after it was opened, and Error{limit_exceeded} for a record longer than
// `options.max_record_size`. With CrcCheck::never, only the length is compared.
std::vector<std::byte> read_indexed_record(const RandomAccessFile& file,
                                           const RecordIndexEntry& entry,
                                           const RecordReadOptions& options = {});

// Selects the record headers that check_record_index compares.
enum class IndexedHeaders {
  all,
  // Compares 16 headers, including the first and the last: detects another or a rewritten file with
  // a few reads.
  some,
};

// Reads `index` to its end and compares it with `file`: the last record must end at the end of the
// file, and the selected headers must have the lengths of their entries. Does not read the data.
// Returns the number of records. If the index does not match the file, throws
// Error{checksum_mismatch} with the path of the index. Also throws the errors of RecordIndexReader.
// Default: all headers.
uint64_t check_record_index(RecordIndexReader& index, const RandomAccessFile& file,
                            IndexedHeaders headers = IndexedHeaders::all);

}  // namespace recordpipe
