// Implements RecordFilter and RecordNumbers (where.h).
#include <string>
#include <utility>

#include "recordpipe/toolkit/where.h"

namespace recordpipe {

NumberedRecord RecordNumbers::numbered(const Record& record) {
  const bool is_same_file = record.path.data() == path_.data() &&
                            record.path.size() == path_.size() && record.offset >= offset_;
  if (!is_same_file) next_ = 0;
  path_ = record.path;
  offset_ = record.offset;
  return {record, next_++};
}

RecordFilter::RecordFilter(std::optional<Where> where, std::optional<uint64_t> limit,
                           std::optional<MessageKind> kind)
    : where_(std::move(where)), left_(limit), kind_(kind), message_(kind) {}

std::optional<NumberedRecord> RecordFilter::next(
    const std::function<std::optional<Record>()>& read) {
  if (is_full()) return std::nullopt;
  while (const auto record = read()) {
    NumberedRecord numbered = numbers_.numbered(*record);
    if (!left_) return numbered;
    if (where_) {
      message_.read(record->data);
      if (!where_->matches(message_, numbered)) continue;
    }
    --*left_;
    return numbered;
  }
  return std::nullopt;
}

bool RecordFilter::matches(const MessageView& message, const NumberedRecord& record) const {
  return !where_ || left_ || where_->matches(message, record);
}

std::string RecordFilter::require_possible() const {
  return where_ ? where_->require_possible(!is_full()) : std::string();
}

}  // namespace recordpipe
