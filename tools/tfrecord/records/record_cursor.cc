#include "tools/tfrecord/records/record_cursor.h"

#include <utility>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/stop.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {

RecordCursor::RecordCursor(const CommandContext& context, InputReading input, RecordRange range,
                           InputProgress& progress)
    : context_(context),
      range_(range),
      progress_(progress),
      work_(work_of(context, progress)),
      input_(std::move(input)) {
  if (input_.on_damage != OnDamage::raise || range_.all() || !open_random()) {
    in_turn_.emplace(work_, input_);
  }
  skip_to_first();
}

bool RecordCursor::open_random() {
  file_ = open_random_input(work_of(context_), path());
  if (file_ && detect_compression(*file_, input_.reading) != Compression::none) file_.reset();
  if (!file_) return false;
  if (count_by_index(context_.files, path(), *file_)) {
    index_.emplace(context_.files, record_index_path(path()));
  } else {
    headers_.emplace(*file_, input_.reading);
  }
  return true;
}

std::optional<RecordIndexEntry> RecordCursor::read_entry() {
  return naming_remedy(input_.remedy, [&] { return index_ ? index_->read() : headers_->read(); });
}

void RecordCursor::skip_to_first() {
  for (; next_ < range_.first; ++next_) {
    throw_if_stopped(context_.stop, "");
    const bool there = file_ ? read_entry().has_value() : in_turn_->next().has_value();
    if (!there) return;
  }
}

std::optional<NumberedRecord> RecordCursor::read() {
  if (next_ < range_.first || next_ >= range_.end) return std::nullopt;
  throw_if_stopped(context_.stop, "");
  std::optional<Record> record;
  if (in_turn_) {
    record = in_turn_->next();
  } else if (const auto entry = read_entry()) {
    data_ = {};  // so that memory never holds two records
    data_ = naming_remedy(input_.remedy,
                          [&] { return read_indexed_record(*file_, *entry, input_.reading); });
    record = Record{.data = data_, .offset = entry->offset};
    progress_.add(entry->size);
  }
  if (!record) return std::nullopt;
  record->path = path();
  return NumberedRecord{*record, next_++};
}

}  // namespace recordpipe
