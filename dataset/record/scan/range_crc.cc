#include "dataset/record/scan/range_crc.h"

#include "recordpipe/checksum/crc32c.h"

namespace recordpipe {

void RangeCrc::extend_to(uint64_t end) {
  uint64_t released = place(prefix_.size() - 1);
  while (place(prefix_.size() - 1) + spacing_ <= end) {
    if (prefix_.size() >= max_) {
      for (size_t i = 0; 2 * i < prefix_.size(); ++i) prefix_[i] = prefix_[2 * i];
      prefix_.resize((prefix_.size() + 1) / 2);
      spacing_ *= 2;
      continue;
    }
    const uint64_t from = place(prefix_.size() - 1);
    prefix_.push_back(input_.extend_crc(prefix_.back(), from, from + spacing_));
    if (from - released >= input_.piece()) {
      input_.release(released, from);
      released = from;
    }
  }
  input_.release(released, end);
}

uint32_t RangeCrc::of(uint64_t begin, uint64_t end) {
  // Starts again at `begin`: the skipped bytes are not needed, and may no longer be available.
  if (begin > place(prefix_.size() - 1)) {
    origin_ = begin;
    prefix_ = {0};
    spacing_ = kSpacing;
  }
  extend_to(end);
  const size_t first = (begin - origin_ + spacing_ - 1) / spacing_;
  const size_t last = (end - origin_) / spacing_;
  if (first >= last) return input_.extend_crc(0, begin, end);
  const uint32_t head = input_.extend_crc(0, begin, place(first));
  const uint64_t middle_size = place(last) - place(first);
  const uint32_t middle = crc32c_concat(prefix_[first], prefix_[last], middle_size);
  const uint32_t crc =
      input_.extend_crc(crc32c_concat(head, middle, middle_size), place(last), end);
  input_.release(place(last), end);
  return crc;
}

}  // namespace recordpipe
