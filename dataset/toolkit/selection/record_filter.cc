#include "recordpipe/toolkit/record_filter.h"

#include <utility>

namespace recordpipe {

RecordFilter::RecordFilter(std::optional<Where> where, std::optional<uint64_t> limit)
    : where_(std::move(where)), left_(limit) {}

std::optional<Record> RecordFilter::next(const std::function<std::optional<Record>()>& read) {
  if (is_full()) return std::nullopt;
  while (const auto record = read()) {
    if (!left_) return record;
    if (where_) {
      message_.read(record->data);
      if (!where_->matches(message_)) continue;
    }
    --*left_;
    return record;
  }
  return std::nullopt;
}

bool RecordFilter::matches(const MessageView& message) const {
  return !where_ || left_ || where_->matches(message);
}

void RecordFilter::require_possible() const {
  if (where_) where_->require_possible(!is_full());
}

}  // namespace recordpipe
