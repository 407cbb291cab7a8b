// Reading on after damage: all intact records of a TFRecord file, and the damaged regions between
// them.
//
//     RecordScanner scanner(files.open_source(path));
//     while (const auto step = scanner.next()) {
//       if (const Record* record = std::get_if<Record>(&*step)) use(record->data);
//       else report(std::get<DamagedRegion>(*step));
//     }
//
// After damage a record is looked for at each following byte: where a length's CRC fits, the length
// fits into what is left, and the data's CRC fits. So no record is lost that both CRCs vouch for,
// unless it starts inside another one. What lies inside damaged data counts, too: where that was
// made of records (a TFRecord file as a value), they are found. A chance hit takes 64 bits that
// happen to fit.
//
// The time is linear in the size of the content, whatever is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/stream_compression.h"
#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

// The bytes of a record that a RecordScanner gave, its header and its footer included: they lie
// before and behind its data, and live as long.
inline std::span<const std::byte> framed(const Record& record) {
  return {record.data.data() - kRecordHeaderSize, record.data.size() + kRecordOverhead};
}

// One thread at a time.
class RecordScanner {
 public:
  using Step = std::variant<Record, DamagedRegion>;

  // A stream, inflated where it has to be. Of a stream `max_record_size` bounds the records, the
  // memory (a length that lies takes as many bytes as follow it), and how far a record is looked
  // for: behind so many bytes of damage the scan ends. Where a compressed stream is damaged the
  // content goes on with the next gzip member or zstd frame that is found (inflate() of
  // compression.h), and ends if there is none. What lay between is missing in the content, and in
  // the sizes of regions: there is one all the same, maybe of no bytes, whose reason says so and
  // where in the file. `reading.crc` must not be `never`: nothing else tells what is a record.
  explicit RecordScanner(std::unique_ptr<ByteSource> source, const RecordReadOptions& reading = {},
                         std::stop_token stop = {});
  // A stream as detect_source() gave it, with read_on_after_damage.
  explicit RecordScanner(DetectedSource detected, uint64_t max_record_size,
                         std::stop_token stop = {});
  // A plain file, mapped or not, which must live as long as the scanner. Takes 1.5 MiB of memory,
  // and for a file that is not stable() its longest intact record; the file may be larger than the
  // memory. ParallelRecordScanner gives the same, by many threads.
  explicit RecordScanner(const RandomAccessFile& file, std::stop_token stop = {});
  ~RecordScanner();
  RecordScanner(RecordScanner&&) noexcept;
  RecordScanner& operator=(RecordScanner&&) noexcept;

  // The next intact record, valid until the next call, or the damaged region before it; nothing at
  // the end, and ever after. No two regions touch. Throws what the source throws and, once a stop
  // was requested, Error{cancelled}.
  std::optional<Step> next();

  // Where the next record or region begins, in the (inflated) content.
  uint64_t offset() const;
  Compression compression() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
