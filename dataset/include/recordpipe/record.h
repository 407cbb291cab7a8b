// A record as a view: decoding reads from where the bytes already are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace recordpipe {

struct Record {
  std::span<const std::byte> data;
  // Where the record's header starts, in bytes from the start of the file (of its inflated content
  // where it is compressed).
  uint64_t offset = 0;
  // The file's, for messages; empty where the reader doesn't say. Lives as long as the reader (the
  // pipeline's iterator), and as `owner`.
  std::string_view path = {};
  // Keeps `data` alive where it lies in a buffer of its own: records of streams that outlive the
  // next read. Null for records of a mapped file (which live as long as the mapping) and for what
  // RecordReader::read returns (which lives until the next read).
  std::shared_ptr<const std::byte[]> owner = {};
};

}  // namespace recordpipe
