#include "dataset/toolkit/files/input_records.h"

#include <utility>
#include <variant>

#include "dataset/base/damage_hint.h"

namespace recordpipe {

InputRecords::InputRecords(const FileWork& work, const InputReading& input, size_t threads)
    : work_(work), input_(input) {
  if (input.on_damage == OnDamage::raise) {
    records_.emplace(work, input.paths, input.reading, threads);
  }
}

std::optional<Record> InputRecords::next() {
  if (!records_) return next_intact();
  return naming_remedy(input_.remedy, [&] { return records_->read(); });
}

std::optional<Record> InputRecords::next_intact() {
  for (; file_ < input_.paths.size(); ++file_) {
    if (!scanner_) open();
    if (auto record = scan()) {
      record->path = path();
      return record;
    }
    scanner_.reset();
  }
  return std::nullopt;
}

void InputRecords::open() {
  const InputStatus status = input_status(work_, path());
  auto plain =
      status.is_local_regular ? map_plain_file(work_.files, path(), input_.reading) : nullptr;
  is_mapped_ = plain != nullptr;
  if (is_mapped_) {
    scanner_.emplace(std::move(plain), work_.stop, input_.on_damage);
  } else {
    scanner_.emplace(open_counted(work_, path(), status), input_.reading, work_.stop,
                     input_.on_damage);
  }
}

std::optional<Record> InputRecords::scan() {
  while (true) {
    const uint64_t begin = scanner_->offset();
    const auto step = scanner_->next();
    if (!step) return std::nullopt;
    if (is_mapped_) work_.add(scanner_->offset() - begin);
    if (const auto* record = std::get_if<Record>(&*step)) return *record;
    if (input_.damaged) input_.damaged(path(), std::get<DamagedRegion>(*step));
  }
}

}  // namespace recordpipe
