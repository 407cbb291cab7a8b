#include "tools/tfrecord/input_records.h"

#include <utility>
#include <variant>

#include "dataset/record/record_error.h"
#include "tools/tfrecord/counting_source.h"
#include "tools/tfrecord/inputs.h"
#include "tools/tfrecord/plain_file.h"

namespace recordpipe {
namespace {

constexpr uint64_t kBytesBetweenSigns = uint64_t{1} << 20;

std::optional<uint64_t> size_of_all(FileSystem& files, const std::vector<std::string>& paths) {
  uint64_t sum = 0;
  for (const std::string& path : paths) {
    if (is_standard_input(path)) return std::nullopt;
    const auto status = files.status(path);
    if (!status || status->kind != FileKind::regular) return std::nullopt;
    sum += status->size;
  }
  return sum;
}

}  // namespace

InputRecords::InputRecords(const CommandContext& context, std::vector<std::string> paths,
                           const RecordReadOptions& reading, std::string activity,
                           OnDamage on_damage)
    : context_(context),
      paths_(std::move(paths)),
      reading_(reading),
      activity_(std::move(activity)),
      on_damage_(std::move(on_damage)),
      bytes_to_read_(size_of_all(context.files, paths_)) {}

std::optional<Record> InputRecords::next() {
  for (; file_ < paths_.size(); ++file_) {
    if (bytes_read_ - shown_ >= kBytesBetweenSigns) show_progress();
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
  auto source = std::make_unique<CountingSource>(open_input(context_, path()), bytes_read_);
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
    if (mapped_) bytes_read_ += scanner_->offset() - begin;
    if (const auto* record = std::get_if<Record>(&*step)) return *record;
    on_damage_(path(), std::get<DamagedRegion>(*step));
  }
}

void InputRecords::show_progress() {
  shown_ = bytes_read_;
  context_.progress.update({.activity = activity_, .done = shown_, .total = bytes_to_read_});
}

}  // namespace recordpipe
