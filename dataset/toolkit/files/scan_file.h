// Scans any file for intact records and damage: on all cores if it can be mapped, as a stream if it
// is compressed, remote or a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {

struct ScanSinks {
  // Called first. May be empty.
  std::function<void(Compression)> opened = {};
  // Receives `count` consecutive intact records with framing, as in the file's content. `framed` is
  // valid only during the call.
  std::function<void(std::span<const std::byte> framed, uint64_t count)> intact = {};
  std::function<void(const DamagedRegion&)> damaged = {};
};

struct ScanTotals {
  Compression compression = Compression::none;
  uint64_t bytes = 0;    // of the content
  uint64_t records = 0;  // intact records
  DamageSkipped lost = {};
  // The file was truncated while it was read: the sinks may have received bytes other than those
  // that were checked.
  bool cut = false;

  bool intact() const { return lost.regions == 0; }
};

// Calls the sinks in the order of the file, on the calling thread. `threads`: 0 for
// available_cpus(). `status`: input_status() of the file, if the caller has it already.
ScanTotals scan_file(const FileWork& work, const std::string& path,
                     const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                     const std::optional<InputStatus>& status = {});

// Appends all intact records of a file to `writer`. `sinks` are called as by scan_file(); intact()
// may be empty. Throws Error{truncated} if the file was truncated while it was read.
ScanTotals salvage_file(const FileWork& work, const std::string& path,
                        const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                        RecordWriter& writer, const std::optional<InputStatus>& status = {});

// Writes the index of a plain file to `sink`; returns the number of records. Checks every CRC:
// throws Error{corrupted} for the first damage. Throws Error{unsupported}, with
// `decompress_hint`, for a compressed file.
uint64_t write_index(const FileWork& work, const std::string& path, size_t threads,
                     const std::string& decompress_hint, ByteSink& sink,
                     const std::optional<InputStatus>& status = {});
// Throws that Error{unsupported}.
void require_plain(const std::string& path, Compression compression,
                   const std::string& decompress_hint);

}  // namespace recordpipe
