// Recovers records from damaged TFRecord files: reads all intact records of a file, and the damaged
// regions between them.
//
//     RecordScanner scanner(files.open_source(path));
//     while (const auto step = scanner.next()) {
//       if (const Record* record = std::get_if<Record>(&*step)) use(record->data);
//       else report(std::get<DamagedRegion>(*step));
//     }
//
// After damage, the scanner searches for the next record at each following byte. A record is
// accepted if the length's CRC matches, the length does not exceed the remaining bytes, and the
// data's CRC matches. So the scanner finds every record with two valid CRCs, unless the record
// starts inside another record. The search includes damaged data: if damaged data contained records
// (a TFRecord file as a value), these are found. A false positive requires that 64 bits match by
// chance.
//
// The scan time is linear in the size of the content, for any content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {

// Returns the framed bytes of a RecordScanner's record: header, data and footer. The header and the
// footer are adjacent to the data in memory and have the same lifetime.
inline std::span<const std::byte> framed(const Record& record) {
  return {record.data.data() - kRecordHeaderSize, record.data.size() + kRecordOverhead};
}

// Not thread-safe.
class RecordScanner {
 public:
  using Step = std::variant<Record, DamagedRegion>;

  // Scans a stream, and decompresses it if necessary. For streams, `max_record_size` limits the
  // record size, the memory (a wrong length takes no more memory than there are bytes after it),
  // and the distance searched for the next record: the scan ends after `max_record_size` bytes of
  // damage. After damage in a compressed stream, the content continues with the next gzip member or
  // zstd frame that is found (inflate() of compression.h), and ends if there is none. The lost
  // bytes are missing in the content and in the sizes of regions; a region, possibly of 0 bytes,
  // reports the damage and its position in the file. Damage is noticed where the codec notices it,
  // at the latest by the member's checksum: deflate copies from bytes before, so until then whole
  // records may appear a second time, with correct CRCs. `reading.crc` must not be `never`: records
  // are recognised only by their CRCs. With OnDamage::skip_file, the rest of the content after
  // damaged framing or a damaged stream is one region, which is not searched.
  explicit RecordScanner(std::unique_ptr<ByteSource> source, const RecordReadOptions& reading = {},
                         std::stop_token stop = {}, OnDamage on_damage = OnDamage::resync);
  // Scans a stream from detect_source() with read_on_after_damage.
  explicit RecordScanner(DetectedSource detected, uint64_t max_record_size,
                         std::stop_token stop = {});
  // Scans a plain file, mapped or not, which must outlive the scanner. Uses 1.5 MiB of memory, and
  // for a file that is not stable() also the memory of the longest intact record; the file may
  // exceed the memory. ParallelRecordScanner gives the same result with several threads.
  explicit RecordScanner(const RandomAccessFile& file, std::stop_token stop = {},
                         OnDamage on_damage = OnDamage::resync);
  // The same for a file that the scanner owns. At the end, next() throws if the file was truncated
  // meanwhile: a record may have had zeros in place of the lost part.
  explicit RecordScanner(std::unique_ptr<MappedFile> file, std::stop_token stop = {},
                         OnDamage on_damage = OnDamage::resync);
  ~RecordScanner();
  RecordScanner(RecordScanner&&) noexcept;
  RecordScanner& operator=(RecordScanner&&) noexcept;

  // Returns the next intact record (valid until the next call), or the damaged region before it;
  // nullopt at the end and on every later call. Regions are never adjacent. Throws the source's
  // errors, and Error{cancelled} after a stop request.
  std::optional<Step> next();

  // Returns the offset of the next record or region in the (decompressed) content.
  uint64_t offset() const;
  Compression compression() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
