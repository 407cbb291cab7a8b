// Where tfrecord_files keeps the records of a stream, whose reader gives them one at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "dataset/record/record.h"

namespace recordpipe {

// Copies records that were read from a stream: small ones to blocks that they share, so that
// memory is not taken for each, larger ones to their own, so that one that stays long in a shuffle
// keeps no others. The path goes with them: it must be there as long as they are.
class RecordKeeper {
 public:
  Record keep(const Record& record, std::string_view path) {
    const size_t size = record.data.size();
    if (size >= kOwn) {
      auto own = std::make_shared_for_overwrite<std::byte[]>(size + path.size());
      const std::string_view own_path = copy(path, own.get() + size);
      std::memcpy(own.get(), record.data.data(), size);
      const std::span<const std::byte> data(own.get(), size);
      return {data, record.offset, own_path, std::move(own)};
    }
    if (size > left_ || path != path_) {
      left_ = kBlock;
      block_ = std::make_shared_for_overwrite<std::byte[]>(path.size() + left_);
      path_ = copy(path, block_.get());
      at_ = block_.get() + path.size();
    }
    if (size > 0) std::memcpy(at_, record.data.data(), size);
    const Record kept{{at_, size}, record.offset, path_, block_};
    at_ += size;
    left_ -= size;
    return kept;
  }

 private:
  static std::string_view copy(std::string_view text, std::byte* to) {
    std::memcpy(to, text.data(), text.size());
    return {reinterpret_cast<const char*>(to), text.size()};
  }

  static constexpr size_t kOwn = 1024;
  static constexpr size_t kBlock = size_t{16} << 10;
  std::shared_ptr<std::byte[]> block_;
  std::string_view path_;  // at the start of block_
  std::byte* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace recordpipe
