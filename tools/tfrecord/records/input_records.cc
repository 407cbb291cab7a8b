#include "tools/tfrecord/records/input_records.h"

#include <utility>
#include <variant>

#include "dataset/record/record_framing.h"
#include "recordpipe/stop.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {

InputRecords::InputRecords(const CommandContext& context, std::vector<std::string> paths,
                           const RecordReadOptions& reading, InputProgress& progress,
                           OnDamage on_damage)
    : context_(context),
      paths_(std::move(paths)),
      reading_(reading),
      progress_(progress),
      on_damage_(std::move(on_damage)) {}

std::optional<Record> InputRecords::next() {
  for (; file_ < paths_.size(); ++file_) {
    if (!reader_ && !scanner_) open();
    if (auto record = scanner_ ? scan() : reader_->read()) {
      record->path = path();
      return record;
    }
    close();
  }
  return std::nullopt;
}

void InputRecords::open() {
  if (on_damage_ && can_be_mapped(work_of(context_), path(), reading_)) {
    mapped_ = context_.files.map(path());
    scanner_.emplace(*mapped_, context_.stop);
    return;
  }
  auto source = progress_.counted(open_input(context_, path()));
  if (on_damage_) {
    scanner_.emplace(std::move(source), reading_, context_.stop);
  } else {
    reader_.emplace(std::move(source), reading_);
  }
}

void InputRecords::close() {
  // A returned record may have contained zeros in place of the truncated part.
  if (mapped_ && mapped_->damaged()) throw cut_while_mapped(path(), scanner_->offset());
  reader_.reset();
  scanner_.reset();
  mapped_.reset();
}

std::optional<Record> InputRecords::scan() {
  while (true) {
    const uint64_t begin = scanner_->offset();
    const auto step = scanner_->next();
    if (!step) return std::nullopt;
    if (mapped_) progress_.add(scanner_->offset() - begin);
    if (const auto* record = std::get_if<Record>(&*step)) return *record;
    on_damage_(path(), std::get<DamagedRegion>(*step));
  }
}

SelectionReport select_inputs(const CommandContext& context, const InputReading& input,
                              const RecordSelection& selection, const std::string& activity,
                              const std::function<void(RecordPieces)>& consume) {
  InputProgress progress(context, activity, input.paths);
  InputRecords records(context, input.paths, input.reading, progress, input.on_damage);
  return select_records([&] { return records.next(); }, selection, consume);
}

namespace {

// The interval of checks for a stop request, in records.
constexpr uint64_t kStopInterval = 4096;

}  // namespace

RecordCursor::RecordCursor(const CommandContext& context, const std::string& path,
                           const RecordReadOptions& reading, RecordRange range,
                           InputProgress& progress)
    : context_(context), reading_(reading), range_(range), progress_(progress) {
  if (range_.all() || !open_random(path)) stream_ = open_records(context, path, reading, progress);
  skip_to_first();
}

bool RecordCursor::open_random(const std::string& path) {
  file_ = open_random_input(work_of(context_), path);
  if (!file_ || compression_of(*file_, reading_) != Compression::none) return false;
  if (index_fits(context_.files, path, *file_)) {
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
    const bool there = stream_ ? stream_->read().has_value() : read_entry().has_value();
    if (!there) return;
  }
}

std::optional<Record> RecordCursor::read() {
  if (next_ < range_.first || next_ >= range_.end) return std::nullopt;
  if (next_ % kStopInterval == 0) throw_if_stopped(context_.stop, "");
  std::optional<Record> record;
  if (stream_) {
    record = stream_->read();
  } else if (const auto entry = read_entry()) {
    data_ = {};  // so that memory never holds two records
    data_ = read_indexed_record(*file_, *entry, reading_);
    record = Record{.data = data_, .offset = entry->offset};
    progress_.add(entry->size);
  }
  if (record) ++next_;
  return record;
}

}  // namespace recordpipe
