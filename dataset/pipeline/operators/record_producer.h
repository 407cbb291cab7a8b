// The work of tfrecord_files: from tickets to records, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataset/pipeline/engine/stage.h"
#include "dataset/pipeline/engine/value_store.h"
#include "dataset/pipeline/operators/open_ahead.h"
#include "recordpipe/record.h"

namespace recordpipe::internal {

// A ticket's ref: file and record of a mapped file, or else, for a record that came from a stream,
// a place in the value store.
struct RecordRef {
  static constexpr unsigned kRecordBits = 40;
  static constexpr uint64_t kMaxFiles = (uint64_t{1} << (64 - kRecordBits - 1)) - 1;

  uint64_t ref = 0;

  static constexpr RecordRef of_mapped(uint64_t file, uint64_t record) {
    return {(file + 1) << kRecordBits | record};
  }
  constexpr bool is_mapped() const { return ref >> kRecordBits != 0; }
  constexpr size_t file() const { return (ref >> kRecordBits) - 1; }
  constexpr size_t record() const { return ref & ((uint64_t{1} << kRecordBits) - 1); }
};

// Files that are mapped, by number; the others are null. Written by the planning thread; a ticket
// for a file is only handed on once its file is here, so workers read without a lock.
using MappedFiles = std::vector<OpenRecordFilePtr>;

// What a plan has opened, for the producers.
struct OpenedRecords {
  explicit OpenedRecords(size_t files) : mapped(files) {}
  MappedFiles mapped;
  ValueStore streamed{element_ops<Record>()};
};

class RecordWork final : public Work {
 public:
  // `check_crc`: or only look at what is there.
  RecordWork(std::shared_ptr<OpenedRecords> opened, bool check_crc)
      : Work(element_ops<Record>()), opened_(std::move(opened)), check_crc_(check_crc) {}
  bool is_heavy() const override { return check_crc_; }

 protected:
  std::unique_ptr<Producer> build_producer() override;

 private:
  const std::shared_ptr<OpenedRecords> opened_;
  const bool check_crc_;
};

}  // namespace recordpipe::internal
