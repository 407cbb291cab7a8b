// Records in blocks of about a mebibyte, copied out of their reader, so that other threads can work
// on one while the next is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "recordpipe/record.h"

namespace recordpipe {

class RecordBlock {
 public:
  // The number of its first record in the file, from 0.
  uint64_t first() const { return first_; }
  size_t size() const { return places_.size(); }
  // Record first() + i. It lives as long as the block.
  Record operator[](size_t i) const;
  // Of all records together.
  size_t bytes() const { return bytes_.size(); }
  // What the block takes: something for each record, which may be of no length.
  size_t memory() const { return bytes_.size() + places_.size() * sizeof(Place); }

  // For a block that starts at record `first`.
  explicit RecordBlock(uint64_t first = 0) : first_(first) {}
  // Copies the record behind the last one.
  void append(const Record& record);

 private:
  struct Place {
    uint64_t offset;        // in the file
    std::string_view path;  // the record's
    size_t begin;           // in bytes_
    size_t size;
  };

  uint64_t first_;
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
};

}  // namespace recordpipe
