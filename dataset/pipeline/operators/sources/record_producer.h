// Produces the records of tfrecord_files from tickets, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/pipeline/execute/memory_account.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe::internal {

// The ref of a ticket. For a mapped file: the file number and the record number. For a stream: the
// record's ref in the value store.
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

// A file with random access: it is mapped, or read in ranges.
struct OpenRecordFile {
  OpenRecordFile(MappedRecordFile opened, const FileFingerprint& content,
                 std::shared_ptr<MemoryAccount> account)
      : file(std::move(opened)), fingerprint(content), index_memory(std::move(account)) {
    index_memory.set(file.size() * sizeof(uint64_t));
  }

  const MappedRecordFile file;
  const FileFingerprint fingerprint;
  MemoryCharge index_memory;  // 8 bytes for each record
};
using OpenRecordFilePtr = std::shared_ptr<const OpenRecordFile>;

// The files with random access, indexed by file number; the entries of other files are null. The
// planning thread stores a file here before it returns the first ticket for it, so workers read
// without a lock.
using MappedFiles = std::vector<OpenRecordFilePtr>;

// Passes a plan's stop requests to the threads that work for the plan. Thread-safe.
class PlanStop {
 public:
  void request() {
    const std::lock_guard lock(mutex_);
    source_.request_stop();
  }
  // Undoes a request for tokens taken from now on; tokens taken before stay stopped. No-op without
  // a request.
  void withdraw() {
    const std::lock_guard lock(mutex_);
    if (source_.stop_requested()) source_ = {};
  }
  std::stop_token token() const {
    const std::lock_guard lock(mutex_);
    return source_.get_token();
  }

 private:
  mutable std::mutex mutex_;
  std::stop_source source_;
};

// The files that a plan has opened, and its stop requests, for the producers.
struct OpenedRecords {
  explicit OpenedRecords(size_t files) : mapped(files) {}
  MappedFiles mapped;
  ValueStore streamed{element_ops<Record>()};
  PlanStop stop;
};

// Copies `record` and `path` into one allocation that the copy owns. For records that are not views
// into a mapped file. Each small record has its own allocation. If records shared a block, one
// record that stays in a shuffle buffer would keep the whole block, several times its size,
// allocated. The thread that copies a record also frees the old value it swaps out of the
// ValueStore, so the allocator needs no lock.
inline Record keep_record(const Record& record, std::string_view path) {
  const size_t size = record.data.size();
  auto own = std::make_shared_for_overwrite<std::byte[]>(size + path.size());
  if (size > 0) std::memcpy(own.get(), record.data.data(), size);
  std::byte* const own_path = own.get() + size;
  std::memcpy(own_path, path.data(), path.size());
  const std::span<const std::byte> data(own.get(), size);
  return {data,
          record.offset,
          {reinterpret_cast<const char*>(own_path), path.size()},
          std::move(own),
          record.number};
}

// `check_crc`: whether to verify the CRCs. If false, the data is returned unchecked.
std::shared_ptr<Work> record_work(std::shared_ptr<OpenedRecords> opened, bool check_crc,
                                  std::string remedy);

}  // namespace recordpipe::internal
