#include "dataset/toolkit/files/input_records.h"

#include <utility>
#include <variant>

#include "dataset/base/available_cpus.h"
#include "dataset/record/record_framing.h"

namespace recordpipe {

InputRecords::InputRecords(const FileWork& work, const InputReading& input, size_t threads)
    : work_(work), input_(input) {
  if (input.on_damage == OnDamage::raise) {
    records_.emplace(work, input.paths, input.reading, threads);
  }
}

std::optional<Record> InputRecords::next() { return records_ ? records_->read() : next_intact(); }

std::optional<Record> InputRecords::next_intact() {
  for (; file_ < input_.paths.size(); ++file_) {
    if (!scanner_) open();
    if (auto record = scan()) {
      record->path = path();
      return record;
    }
    close();
  }
  return std::nullopt;
}

void InputRecords::open() {
  const InputStatus status = input_status(work_, path());
  if (status.is_local_regular) {
    mapped_ = work_.files.map(path());
    if (compression_of(*mapped_, input_.reading) == Compression::none) {
      scanner_.emplace(*mapped_, work_.stop, input_.on_damage);
      return;
    }
    mapped_.reset();
  }
  scanner_.emplace(open_counted(work_, path(), status), input_.reading, work_.stop,
                   input_.on_damage);
}

void InputRecords::close() {
  // A returned record may have contained zeros in place of the truncated part.
  if (mapped_ && mapped_->damaged()) throw cut_while_mapped(path(), scanner_->offset());
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
    if (input_.damaged) input_.damaged(path(), std::get<DamagedRegion>(*step));
  }
}

SelectionReport select_inputs(
    const FileWork& work, const InputReading& input, const RecordSelection& selection,
    const char* activity, const std::function<void(RecordPieces, const NumberedRecord&)>& consume) {
  work.begin(activity);
  InputRecords records(work, input, thread_count(selection.threads));
  return select_records([&] { return records.next(); }, selection, consume);
}

}  // namespace recordpipe
