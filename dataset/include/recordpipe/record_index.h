// Index files of plain TFRecord files: a line of ASCII for each record, "START SIZE\n", as DALI's
// tfrecord2idx and Python's package tfrecord write them (FORMAT.md). START is where the record's
// header begins, SIZE its bytes with the 16 of its framing.
//
//     RecordIndexReader index(files, record_index_path(path));
//     if (const auto entry = index.entry(41)) read_indexed_record(*files.open_random(path),
//     *entry);
//
// An index is text from outside: nothing in it is believed before it was compared with the file,
// and nothing of it is kept in memory, however many records there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

struct RecordIndexEntry {
  uint64_t offset = 0;              // of the record's first byte, the header's
  uint64_t size = kRecordOverhead;  // header, data and footer

  uint64_t length() const { return size - kRecordOverhead; }  // of the data
  uint64_t end() const { return offset + size; }
  bool operator==(const RecordIndexEntry&) const = default;
};

// Where the index of the file at `path` is: PATH.idx. Of a URL with a query (a presigned one, say)
// the query stays: https://host/a.idx?token=... of https://host/a?token=...
std::string record_index_path(const std::string& path);

// Reads entries in order, each compared with those before it: the first record starts at 0, each
// further one where the one before it ends, and a record has at least 16 bytes. Anything else, be
// it a blank, a sign or a missing newline, throws Error{corrupted} or, where the text ends inside a
// line, Error{truncated}, with the offset of the line in the index and its number in the reason.
class RecordIndexReader {
 public:
  RecordIndexReader(FileSystem& file_system, const std::string& path);
  explicit RecordIndexReader(std::unique_ptr<ByteSource> source);

  // The next entry; nothing at the end, and ever after.
  std::optional<RecordIndexEntry> read();
  // Entry `n` of the file, counted from 0, where it was not read before; nothing where there are
  // no more than `n`. Reads what comes before it.
  std::optional<RecordIndexEntry> entry(uint64_t n);

  // How many entries were read, and where the last of them ends: the size of the indexed file once
  // all were.
  uint64_t records() const { return records_; }
  uint64_t end() const { return end_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::optional<std::string_view> next_line();
  [[noreturn]] void refuse(std::string reason) const;

  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t used_ = 0;           // of the buffer: lines that were read
  size_t filled_ = 0;         // of the buffer
  uint64_t line_offset_ = 0;  // of the line that was read last
  uint64_t next_offset_ = 0;  // of the one after it
  uint64_t records_ = 0;
  uint64_t end_ = 0;
};

// Writes the entries of records that follow one another, the first at 0.
class RecordIndexWriter {
 public:
  // `sink` isn't owned.
  explicit RecordIndexWriter(ByteSink& sink);

  // A record of `size` bytes, framing included: at least 16.
  void write(uint64_t size);
  // Passes on what is buffered; leaves the sink open. Once, after the last entry.
  void close();

  uint64_t records() const { return records_; }

 private:
  void flush();

  ByteSink& sink_;
  std::string buffer_;
  uint64_t records_ = 0;
  uint64_t end_ = 0;
};

// Record `entry` of `file`, in one read: its data. Throws Error{corrupted} where no such record is
// there (`file` isn't the one that was indexed, or is damaged), Error{limit_exceeded} past
// `options.max_record_size`. With CrcCheck::never the length alone is compared.
std::vector<std::byte> read_indexed_record(const RandomAccessFile& file,
                                           const RecordIndexEntry& entry,
                                           const RecordReadOptions& options = {});

// Which headers check_record_index looks at.
enum class IndexedHeaders {
  all,
  // 16 of them, the first and the last included: enough to tell another file, or one that was
  // written anew, in a few reads.
  some,
};

// Reads `index` to its end and throws Error{checksum_mismatch} (its path is the index's) unless it
// is an index of `file`: the last record ends where the file does, and records of these lengths
// start where it says. Their data isn't looked at. Returns how many records there are.
uint64_t check_record_index(RecordIndexReader& index, const RandomAccessFile& file,
                            IndexedHeaders headers = IndexedHeaders::all);

}  // namespace recordpipe
