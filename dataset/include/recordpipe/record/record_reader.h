// Reads TFRecord files: sequentially from any stream, or with random access from a file.
//
// A read has three results: a record, a clean end (an empty optional), or an exception. After the
// path, the exception's message says:
//   truncated record at N   the file ends inside the record that starts at N (data or header)
//   corrupted record at N   a CRC does not match; the reason names it (length or data), the hint
//                           the likely cause (a compressed file, a Git LFS pointer, HTML)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// When the CRC of a record's data is checked. For streams, `once` equals `always`.
enum class CrcCheck {
  always,
  once,   // at the first read of the record since the file was mapped, by any thread
  never,  // neither data nor length CRCs are checked, only the framing
};

struct RecordReadOptions {
  // Default: detected from the first bytes. If the length CRC is correct, the file is uncompressed;
  // otherwise the bytes are compared with the magic numbers of gzip, zlib and zstd. With
  // CrcCheck::never, a first length below 4 GiB also means uncompressed; but if that length looks
  // like the start of gzip (1f 8b 08, for example 559,903 bytes), an uncompressed file must be
  // declared here.
  std::optional<Compression> compression = {};
  // Default: once. `never` is for files whose writers computed wrong CRCs.
  CrcCheck crc = CrcCheck::once;
  // For streams and files that are not mapped: the longest record, in bytes (default: 1 GiB). A
  // longer record throws Error{limit_exceeded}. Mapped files have no limit. A stream's buffer grows
  // as bytes arrive, so a wrong length takes no memory.
  uint64_t max_record_size = uint64_t{1} << 30;
};

// Reads records sequentially from a stream. Not thread-safe.
class RecordReader {
 public:
  // Opens `path` through `file_system`.
  RecordReader(FileSystem& file_system, const std::string& path, RecordReadOptions options = {});
  // Reads `source`, for example standard input.
  explicit RecordReader(std::unique_ptr<ByteSource> source, RecordReadOptions options = {});
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  // Returns the next record, which is valid until the next call; nullopt at a clean end and on
  // every later call. Throws truncated, corrupted, limit_exceeded, and the errors of the source.
  // After an exception for which reads_on() is true, the next call returns the record after the
  // failed one; after any other, every further call throws the same exception
  // (record_scanner.h continues after such damage, too).
  std::optional<Record> read();
  // Whether the last read() threw for a single record whose length is correct: its data CRC doesn't
  // match, or it is longer than max_record_size.
  bool reads_on() const;
  // After an exception for which reads_on() is false: passes over up to `most` bytes of the content
  // from the failed record on, and returns the number of bytes; nullopt if the source or its
  // compressed stream fails. Nothing but offset() and path() may be used afterwards.
  std::optional<uint64_t> pass_rest(uint64_t most);

  // Returns the offset of the next record in the decompressed content.
  uint64_t offset() const;
  Compression compression() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Options for opening a MappedRecordFile.
struct RecordMapOptions {
  // Use the index PATH.idx (record_index.h) if it exists (default: false):
  //   - for files of more than 1 MiB, instead of walking the headers, if the index ends at the end
  //     of the file and 16 of its entries match their headers;
  //   - after a damaged header, if the index agrees with all headers before the damage: read() then
  //     throws only for the damaged record, and the records after it can be read.
  // In all other cases, and with CrcCheck::never, the index is ignored.
  bool use_index = false;
  // The file, already opened (default: null: the file is mapped). If it is not stable(), for
  // example a URL from FileSystem::open_random(), each read() and view() reads the record again:
  // the record owns its bytes, and its CRC is checked on every read().
  std::shared_ptr<const RandomAccessFile> file = {};
  // Opening throws Error{cancelled} soon after a stop is requested.
  std::stop_token stop = {};
};

// An uncompressed file with O(1) access to each record. The file is mapped, or read if
// RecordMapOptions::file is not stable(). Thread-safe.
//
// The constructor walks the headers (and checks every length CRC, except with CrcCheck::never), or
// takes the offsets from an index (RecordMapOptions). read() checks the record's data CRC and, if
// the offset came from an index, the header's CRC and length.
class MappedRecordFile {
 public:
  // Throws Error{unsupported} for a compressed file, and the errors of RecordReader::read for a
  // damaged or truncated file.
  MappedRecordFile(FileSystem& file_system, const std::string& path, RecordReadOptions options = {},
                   const RecordMapOptions& map_options = {});
  ~MappedRecordFile();
  MappedRecordFile(MappedRecordFile&&) noexcept;
  MappedRecordFile& operator=(MappedRecordFile&&) noexcept;

  // The number of records.
  size_t size() const;
  // Returns record i < size(), checked. Throws Error{corrupted} if a CRC does not match, and
  // Error{truncated} if the file was truncated after it was mapped (without a CRC check: only if it
  // was truncated before the record).
  Record read(size_t i) const;
  // Like read(), but does not touch the data: the CRC is not checked, and an offset from an index
  // is not verified.
  Record view(size_t i) const;
  // For random access: prefetches into the CPU cache the bytes that read(i) will touch, the first
  // 4 KiB if the CRC will be checked, otherwise both ends of the record. Of a file at a distance,
  // requests the record without waiting (ReadHint::will_need). Never fails.
  void prefetch(size_t i) const;
  // How many records should be prefetched ahead of read().
  size_t prefetch_distance() const;
  // The content of the whole file; empty if the file is not mapped.
  std::span<const std::byte> bytes() const;
  // Whether the file was truncated, or could not be read, after it was mapped.
  bool damaged() const;
  const std::string& path() const;

 private:
  friend class RecordFileOpening;
  struct State;
  explicit MappedRecordFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns the compression of the file at `path`: options.compression if set, otherwise detected
// from its first 12 bytes (RecordReadOptions).
Compression detect_compression(FileSystem& file_system, const std::string& path,
                               const RecordReadOptions& options = {});
// The same for an open file.
Compression detect_compression(const RandomAccessFile& file, const RecordReadOptions& options = {});

// Maps a regular file. Returns null if it is compressed: such a file must be read as a stream.
std::unique_ptr<MappedFile> map_plain_file(FileSystem& file_system, const std::string& path,
                                           const RecordReadOptions& options = {});

}  // namespace recordpipe
