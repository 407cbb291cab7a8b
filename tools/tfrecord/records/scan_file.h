// A file scanned for intact records and damage, whatever it is: by all cores where it can be
// mapped, as a stream where it is compressed, distant or a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "recordpipe/compression.h"
#include "recordpipe/record_reader.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct ScanSinks {
  // Before anything else. May be empty.
  std::function<void(Compression)> opened = {};
  // `count` intact records one after another, framed, as they are in the file's content. Valid
  // during the call.
  std::function<void(std::span<const std::byte> framed, uint64_t count)> intact = {};
  std::function<void(const DamagedRegion&)> damaged = {};
};

struct ScanTotals {
  Compression compression = Compression::none;
  uint64_t bytes = 0;    // of the content
  uint64_t records = 0;  // that are intact
  uint64_t regions = 0;
  uint64_t lost = 0;  // bytes in regions
  // The file was truncated while it was read: the sinks may have seen other bytes than were
  // checked.
  bool cut = false;

  bool intact() const { return regions == 0; }
};

// Calls the sinks in the file's order, on this thread. At its end no bar is left on the terminal.
ScanTotals scan_file(const CommandContext& context, const std::string& path,
                     const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                     InputProgress& progress);

}  // namespace recordpipe
