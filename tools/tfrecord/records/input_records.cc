#include "tools/tfrecord/records/input_records.h"

#include <utility>
#include <variant>

#include "dataset/record/record_framing.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/plain_file.h"

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
  if (on_damage_ && can_be_mapped(context_.files, path(), reading_)) {
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
  // A record that lay in the part that is gone came as zeros.
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

}  // namespace recordpipe
