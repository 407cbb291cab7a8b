// Reading TFRecord files: in order from any stream, or at any place in a mapped file.
//
// A read has three results: a record, a clean end (nothing), an exception. Messages, with the path
// in front:
//   truncated record at N   the file ends inside the record that starts at N, torn headers included
//   corrupted record at N   a CRC does not fit; the reason says which (length or data), the hint
//                           what such a file often is (compressed, a Git LFS pointer, HTML)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record.h"

namespace recordpipe {

// When a record's data CRC is checked. A stream's records are read once, so for them `once` is
// `always`.
enum class CrcCheck {
  always,
  once,   // at the first read since the file was mapped, whatever threads read it
  never,  // nor is a length's: nothing but the framing is checked
};

struct RecordReadOptions {
  // Nothing: found out from the first bytes. A length CRC that fits means plain; only where it
  // doesn't fit are the bytes compared with gzip's, zlib's and zstd's first ones. With
  // CrcCheck::never, a length below 4 GiB means plain, too; a plain file whose first record's
  // length happens to begin like gzip (1f 8b 08: 559,903 bytes, say) then must be named here.
  std::optional<Compression> compression = {};
  // `never` is for files whose writers got the CRCs wrong.
  CrcCheck crc = CrcCheck::once;
  // The longest record a stream may hold (a mapped file needs no cap: its size is one). Buffers
  // grow as bytes arrive, so a length that lies costs no memory.
  uint64_t max_record_size = uint64_t{1} << 30;
};

// Reads records in order from a stream. One thread at a time.
class RecordReader {
 public:
  // Opens `path` through `file_system`.
  RecordReader(FileSystem& file_system, const std::string& path, RecordReadOptions options = {});
  // Reads `source`, for instance standard input.
  explicit RecordReader(std::unique_ptr<ByteSource> source, RecordReadOptions options = {});
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  // The next record, valid until the next call; nothing at a clean end, and ever after. After an
  // exception the reader stays where it was: every further call throws the same again
  // (record_scanner.h goes on behind damage).
  std::optional<Record> read();

  // Where the next record starts.
  uint64_t offset() const;
  Compression compression() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How a MappedRecordFile is opened.
struct RecordMapOptions {
  // Whether the index PATH.idx (record_index.h) may say where the records are. It is used
  //   - for a file of more than 1 MiB, in place of walking the headers, where it ends where the
  //     file does and 16 of its records are where it says,
  //   - where a header is damaged, if it agrees with the headers before the damage: then the
  //     damaged record is one that read() refuses, and those after it can be read.
  // In all other cases, and with CrcCheck::never, an index is ignored.
  bool use_index = false;
  // Opening throws Error{cancelled} soon after a stop was requested.
  std::stop_token stop = {};
};

// A plain file, mapped and indexed: any record in O(1). Safe to use from several threads.
//
// Opening walks the headers (every length CRC is checked, unless told never to), or takes the
// records' places from an index (RecordMapOptions). read() checks a record's data CRC, and where
// the place came from an index, its header's CRC and length, too.
class MappedRecordFile {
 public:
  // Throws Error{unsupported} for a compressed file, and what RecordReader::read would have thrown
  // for a file that is damaged or cut.
  MappedRecordFile(FileSystem& file_system, const std::string& path, RecordReadOptions options = {},
                   const RecordMapOptions& map_options = {});
  ~MappedRecordFile();
  MappedRecordFile(MappedRecordFile&&) noexcept;
  MappedRecordFile& operator=(MappedRecordFile&&) noexcept;

  size_t size() const;
  // Record i < size(), checked. Throws Error{corrupted} where its CRC doesn't fit, and
  // Error{truncated} where the file was cut short after it was mapped (where the CRC isn't checked:
  // where the cut lies before the record).
  Record read(size_t i) const;
  // The same without touching the data: not checked, where the place came from an index not at all.
  Record view(size_t i) const;
  // Has the processor fetch what read(i) will touch into its cache while something else is done,
  // which it can't foresee where records are read in a random order: the first 4 KiB where the CRC
  // is to be checked, the record's two ends where not. Never fails.
  void prefetch(size_t i) const;
  // The whole file.
  std::span<const std::byte> bytes() const;
  // Whether the file was cut short, or could not be read, since it was mapped.
  bool damaged() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How the file at `path` is compressed: what `options` say, or else its first 12 bytes, as
// described there.
Compression detect_compression(FileSystem& file_system, const std::string& path,
                               const RecordReadOptions& options = {});

}  // namespace recordpipe
