#include "dataset/pipeline/operators/sources/record_stream.h"

#include <utility>

#include "dataset/base/damage_hint.h"
#include "dataset/pipeline/operators/sources/lost_rest.h"
#include "dataset/pipeline/operators/sources/record_producer.h"
#include "dataset/pipeline/plan/skip_log.h"
#include "recordpipe/base/error.h"

namespace recordpipe::internal {
namespace {

using Records = std::variant<RecordReader, RecordScanner>;

Records records_of(const RecordFiles& files, std::unique_ptr<ByteSource> source) {
  const OnDamage on_damage = files.damage.on_damage;
  if (on_damage == OnDamage::raise) return RecordReader(std::move(source), files.options);
  return RecordScanner(std::move(source), files.options, files.opened->stop.token(), on_damage);
}

}  // namespace

std::unique_ptr<MappedFile> map_for_scan(const RecordFiles& files, size_t number) {
  if (files.damage.on_damage == OnDamage::raise || !files.is_mappable(number)) return nullptr;
  try {
    return map_plain_file(files.file_system, files.paths[number], files.options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return nullptr;
  }
}

RecordStream::RecordStream(const RecordFiles& files, size_t number,
                           std::unique_ptr<ByteSource> source)
    : files_(files), number_(number), records_(records_of(files, std::move(source))) {}

RecordStream::RecordStream(const RecordFiles& files, size_t number,
                           std::unique_ptr<MappedFile> plain)
    : files_(files),
      number_(number),
      records_(
          RecordScanner(std::move(plain), files.opened->stop.token(), files.damage.on_damage)) {}

std::optional<Record> RecordStream::read() {
  if (auto* const reader = std::get_if<RecordReader>(&records_)) return read_with_damage(*reader);
  return read_intact(std::get<RecordScanner>(records_));
}

std::optional<Record> RecordStream::read_with_damage(RecordReader& reader) {
  try {
    return reader.read();
  } catch (const Error& error) {
    if (!is_damage(error.kind())) throw;
    const Error damage = with_remedy(error, files_.damage.remedy).value_or(error);
    if (reader.reads_on()) throw damage;
    throw lost_rest(files_.file_system, reader, damage);
  }
}

std::optional<Record> RecordStream::read_intact(RecordScanner& scanner) {
  while (const auto step = scanner.next()) {
    if (const auto* record = std::get_if<Record>(&*step)) return *record;
    skipped_.add(std::get<DamagedRegion>(*step));
    if (const auto source = files_.context.source) {
      files_.context.skipped->keep_damage(*source, number_, path(), skipped_);
    }
  }
  return std::nullopt;
}

bool RecordStream::reads_on() const {
  const auto* const reader = std::get_if<RecordReader>(&records_);
  return reader != nullptr && reader->reads_on();
}

const std::string& RecordStream::path() const {
  return std::visit([](const auto& records) -> const std::string& { return records.path(); },
                    records_);
}

}  // namespace recordpipe::internal
