// Reads the records of a file in sequence, for the plan of tfrecord_files, and leaves out damage.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "dataset/pipeline/operators/sources/record_plan.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_scanner.h"

namespace recordpipe::internal {

// Maps a plain local file that is scanned for intact records; else null: it must be a stream.
std::unique_ptr<MappedFile> map_for_scan(const RecordFiles& files, size_t number);

class RecordStream {
 public:
  // `files` must outlive this object.
  RecordStream(const RecordFiles& files, size_t number, std::unique_ptr<ByteSource> source);
  // `plain`: of map_for_scan().
  RecordStream(const RecordFiles& files, size_t number, std::unique_ptr<MappedFile> plain);

  // As RecordReader::read(). Damage that ends the records is a LostRest; with OnDamage::skip_file
  // and resync, it is left out and counted.
  std::optional<Record> read();
  // As RecordReader::reads_on().
  bool reads_on() const;
  const std::string& path() const;

 private:
  std::optional<Record> read_with_damage(RecordReader& reader);
  std::optional<Record> read_intact(RecordScanner& scanner);

  const RecordFiles& files_;
  const size_t number_;
  std::variant<RecordReader, RecordScanner> records_;
  DamageSkipped skipped_;
};

}  // namespace recordpipe::internal
