// The index of the steps in a file of episodes: how many steps each record has, and where their
// values are.
//
// An index is made by one pass over the file, on several threads, which checks the CRC of each
// record, and keeps a CRC of each value: from then on, a value can be checked without reading its
// record. It is kept as PATH.steps (dataset/rlds/FORMAT.md), or in the user's cache if the folder
// can't be written, and is made again if it doesn't fit the file: the file's size, 72 KiB of its
// content and the stored CRC of each record are compared. It takes 32 bytes for each record
// and leaf, and 12 bytes for each value of a leaf of bytes whose values differ in size (of numbers:
// for each step, if their varints differ in size). An index from a file is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/rlds/step_layout.h"

namespace recordpipe::rlds {

// Where a unit (step_layout.h) of a leaf is in the data of its record, and what guards it: the
// CRC-32C of the unit, or of the units of the whole record if they lie at equal distances.
struct UnitPlace {
  bool operator==(const UnitPlace&) const = default;

  ByteRange unit;
  ByteRange guarded;
  uint32_t crc = 0;
  bool is_shared = false;  // `guarded` is that of all units of the leaf in this record
};

struct StepIndexOptions {
  // Of a scan: the threads that read, the caller's is one of them; 0: available_cpus().
  size_t threads = 0;
  std::stop_token stop = {};  // ends a scan
  // Called with the number of bytes of the files that were read since the last call, of a file
  // whose index is there with its size. Must be thread-safe, and throw nothing.
  std::function<void(uint64_t bytes)> advance = {};
  // Of find_step_index(): called with the path of each new index that is kept.
  std::function<void(const std::string& path)> kept = {};
};

class StepIndex {
 public:
  // Reads all records of `file`, which must be stable() and uncompressed. Throws the errors of
  // RecordReader::read and of lay_out_episode(), with the path and the offset of the record: of the
  // first one that fails. Throws Error{cancelled} soon after a stop is requested, and Error{io} if
  // another program changes the file meanwhile.
  static StepIndex scan(const RandomAccessFile& file, std::span<const StepLeaf> leaves,
                        const StepIndexOptions& options = {});
  // Opens the index at `path`. Nothing if there is no such file, or if it is damaged, or if it is
  // of another version of `file`, or of other leaves.
  static std::optional<StepIndex> load(FileSystem& file_system, const std::string& path,
                                       const RandomAccessFile& file,
                                       std::span<const StepLeaf> leaves);
  // Writes the index to a file, which appears complete or not at all.
  void save(FileSystem& file_system, const std::string& path) const;

  uint64_t records() const { return records_; }
  // The number of steps in the records before `record` <= records().
  uint64_t first_step(uint64_t record) const;
  uint64_t steps() const { return first_step(records_); }
  // The offset of a record's header in the file, the length of its data, and the masked CRC of its
  // data.
  uint64_t offset(uint64_t record) const;
  uint32_t length(uint64_t record) const;
  uint32_t crc(uint64_t record) const;
  // The record that contains step `step` < steps().
  uint64_t record_of(uint64_t step) const;
  // Unit `unit` of leaf `leaf`. Nothing if the record must be parsed. Throws Error{corrupted} if
  // the unit isn't inside the record.
  std::optional<UnitPlace> unit(uint64_t record, size_t leaf, uint64_t unit) const;

  // A number that differs between files of other content (the CRC of each record) and leaves; not
  // of the folder.
  uint64_t fingerprint() const;

 private:
  StepIndex() = default;
  // Checks everything but the CRC. Returns false if the content is no index of a file of
  // `file_size` bytes.
  bool open(std::shared_ptr<const void> owner, std::span<const std::byte> content,
            std::span<const StepLeaf> step_leaves, uint64_t file_size);
  // Whether the stored CRCs of the records in `file`, of the same size, are those of the index.
  bool has_records_of(const RandomAccessFile& file) const;
  std::span<const std::byte> record_at(uint64_t record) const;
  uint64_t leaf_units(uint64_t record, size_t leaf) const;

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> content_;  // without the CRC
  std::span<const std::byte> record_entries_;
  std::span<const std::byte> layouts_;
  std::span<const std::byte> ranges_;
  uint64_t records_ = 0;
  size_t leaves_ = 0;
  std::vector<StepLeaf> step_leaves_;
};

// PATH.steps.
std::string step_index_path(const std::string& path);

// Returns the index of `file`: PATH.steps, or the one in the cache; if neither fits the file, makes
// a new one and keeps it beside the file, or in the cache if the folder can't be written:
// $XDG_CACHE_HOME/recordpipe/rlds (default: ~/.cache/recordpipe/rlds). A new index that can be kept
// nowhere is still returned. Throws the errors of scan().
StepIndex find_step_index(FileSystem& file_system, const RandomAccessFile& file,
                          std::span<const StepLeaf> leaves, const StepIndexOptions& options = {});

}  // namespace recordpipe::rlds
