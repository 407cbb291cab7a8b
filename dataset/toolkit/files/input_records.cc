#include "dataset/toolkit/files/input_records.h"

#include <utility>
#include <variant>

#include "dataset/record/record_framing.h"

namespace recordpipe {

std::optional<Record> InputRecords::next() {
  for (; file_ < input_.paths.size(); ++file_) {
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
  if (input_.on_damage && can_be_mapped(work_, path(), input_.reading)) {
    mapped_ = work_.files.map(path());
    scanner_.emplace(*mapped_, work_.stop);
    return;
  }
  auto source = open_counted(work_, path());
  if (input_.on_damage) {
    scanner_.emplace(std::move(source), input_.reading, work_.stop);
  } else {
    reader_.emplace(std::move(source), input_.reading);
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
    if (mapped_) work_.add(scanner_->offset() - begin);
    if (const auto* record = std::get_if<Record>(&*step)) return *record;
    input_.on_damage(path(), std::get<DamagedRegion>(*step));
  }
}

SelectionReport select_inputs(const FileWork& work, const InputReading& input,
                              const RecordSelection& selection, const char* activity,
                              const std::function<void(RecordPieces)>& consume) {
  work.begin(activity);
  InputRecords records(work, input);
  return select_records([&] { return records.next(); }, selection, consume);
}

}  // namespace recordpipe
