// Says of damaged compressed data how much of it is lost: what a read with read_on_after_damage
// (compression.h) throws.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

class LostContent final : public Error {
 public:
  // `lost`: the bytes of the compressed file, from the damage on, that can't be decompressed.
  // `size`: of the compressed file, if these are the rest of it.
  LostContent(Parts parts, uint64_t lost, std::optional<uint64_t> size)
      : Error(std::move(parts)), lost_(lost), size_(size) {}

  uint64_t lost() const { return lost_; }
  std::optional<uint64_t> size() const { return size_; }

 private:
  uint64_t lost_;
  std::optional<uint64_t> size_;
};

}  // namespace recordpipe
