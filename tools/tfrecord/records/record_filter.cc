#include "tools/tfrecord/records/record_filter.h"

#include "tools/tfrecord/command_line/limit_option.h"

namespace recordpipe {

void add_filter(CLI::App& app, FilterArguments& arguments) {
  add_where(app, arguments.where);
  add_limit(app, arguments.limit);
}

RecordFilter::RecordFilter(const FilterArguments& arguments) : left_(arguments.limit) {
  if (!arguments.where.empty()) where_.emplace(arguments.where);
}

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
