#include "tools/tfrecord/records/record_blocks.h"

namespace recordpipe {

Record RecordBlock::operator[](size_t i) const {
  const Place& place = places_[i];
  return {.data = std::span(bytes_).subspan(place.begin, place.size),
          .offset = place.offset,
          .path = place.path};
}

void RecordBlock::append(const Record& record) {
  places_.push_back({record.offset, record.path, bytes_.size(), record.data.size()});
  bytes_.insert(bytes_.end(), record.data.begin(), record.data.end());
}

}  // namespace recordpipe
