#include "tools/tfrecord/records/record_cursor.h"

#include "recordpipe/base/stop.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {
namespace {

// The interval of checks for a stop request, in records.
constexpr uint64_t kStopInterval = 4096;

}  // namespace

RecordCursor::RecordCursor(const CommandContext& context, const std::string& path,
                           const RecordReadOptions& reading, RecordRange range,
                           InputProgress& progress, const DamageSink& on_damage)
    : context_(context),
      path_(path),
      reading_(reading),
      range_(range),
      progress_(progress),
      work_(work_of(context, progress)) {
  if (on_damage) {
    input_ = {.paths = {path}, .reading = reading, .on_damage = on_damage};
    intact_.emplace(work_, input_);
  } else if (range_.all() || !open_random(path)) {
    stream_ = open_records(context, path, reading, progress);
  }
  skip_to_first();
}

// Of an input without random access.
std::optional<Record> RecordCursor::read_in_turn() {
  return intact_ ? intact_->next() : stream_->read();
}

bool RecordCursor::open_random(const std::string& path) {
  file_ = open_random_input(work_of(context_), path);
  if (file_ && compression_of(*file_, reading_) != Compression::none) file_.reset();
  if (!file_) return false;
  if (count_by_index(context_.files, path, *file_)) {
    index_.emplace(context_.files, record_index_path(path));
  } else {
    headers_.emplace(*file_, reading_);
  }
  return true;
}

std::optional<RecordIndexEntry> RecordCursor::read_entry() {
  return index_ ? index_->read() : headers_->read();
}

void RecordCursor::skip_to_first() {
  for (; next_ < range_.first; ++next_) {
    if (next_ % kStopInterval == 0) throw_if_stopped(context_.stop, "");
    const bool there = file_ ? read_entry().has_value() : read_in_turn().has_value();
    if (!there) return;
  }
}

std::optional<NumberedRecord> RecordCursor::read() {
  if (next_ < range_.first || next_ >= range_.end) return std::nullopt;
  if (next_ % kStopInterval == 0) throw_if_stopped(context_.stop, "");
  std::optional<Record> record;
  if (!file_) {
    record = read_in_turn();
  } else if (const auto entry = read_entry()) {
    data_ = {};  // so that memory never holds two records
    data_ = read_indexed_record(*file_, *entry, reading_);
    record = Record{.data = data_, .offset = entry->offset};
    progress_.add(entry->size);
  }
  if (!record) return std::nullopt;
  record->path = path_;
  return NumberedRecord{*record, next_++};
}

}  // namespace recordpipe
