// A record as a view: decoding reads from where the bytes already are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace recordpipe {

struct Record {
  std::span<const std::byte> data;
  // Where the record's header starts, in bytes from the start of the file (of its inflated content
  // where it is compressed).
  uint64_t offset = 0;
  // Keeps `data` alive where it lies in a buffer of its own: records of streams that outlive the
  // next read. Null for records of a mapped file (which live as long as the mapping) and for what
  // RecordReader::read returns (which lives until the next read).
  std::shared_ptr<const std::byte[]> owner;
};

}  // namespace recordpipe
