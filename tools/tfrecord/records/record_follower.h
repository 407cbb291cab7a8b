// Reads the records of a file to which another program appends, for tail --follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/toolkit/where.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

class RecordFollower {
 public:
  struct Entry {
    RecordIndexEntry place;
    uint64_t number;
  };

  // Throws UsageError unless `path` is an uncompressed file of this machine, and the errors of
  // opening it.
  RecordFollower(const CommandContext& context, const std::string& path,
                 const RecordReadOptions& reading);

  // Returns the next record, from the first one on; empty if the file has no further whole record
  // yet. Throws the errors of RecordHeaderReader for damaged lengths.
  std::optional<Entry> next();
  // Returns a record of the file as of the last wait(), valid until the next call. Checks its CRCs.
  NumberedRecord read(const Entry& entry);
  // Returns when the file has grown. Throws Error{corrupted} if it has become smaller, or doesn't
  // have the same bytes before the next record, and Error{cancelled} after a stop request.
  void wait();

 private:
  void open();
  // The last bytes before offset_.
  std::vector<std::byte> bytes_before() const;

  const CommandContext& context_;
  const std::string path_;
  const RecordReadOptions reading_;
  std::unique_ptr<RandomAccessFile> file_;
  std::optional<RecordHeaderReader> headers_;  // of file_
  uint64_t offset_ = 0;                        // of the next record
  uint64_t number_ = 0;                        // of the next record
  std::vector<std::byte> data_;
};

}  // namespace recordpipe
