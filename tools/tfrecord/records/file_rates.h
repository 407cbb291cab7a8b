// How fast a TFRecord file is read on this machine, beside what each step of it costs alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// Bytes a second; the fastest of the passes there was time for.
struct FileRates {
  std::string path = {};
  uint64_t file_bytes = 0;     // read in one pass: all of the file, or what there was time for
  uint64_t content_bytes = 0;  // in those: records with their framing
  uint64_t records = 0;        // in those
  bool whole = false;          // whether that is all
  Compression compression = Compression::none;

  // Of the file's bytes, by read(): after the kernel was asked to drop them from its cache (nothing
  // where it can't be asked: a URL), and once they are there.
  std::optional<double> cold_storage = {};
  double warm_storage = 0;

  // Of content, in memory, on one core: what a record costs on its way.
  std::optional<double> inflation = {};  // nothing where it isn't compressed
  double framing = 0;                    // finding and copying records, without checks
  double crc = 0;
  double decoding = 0;  // every feature of an Example found and checked
  double copying = 0;   // memcpy: what no reader that copies beats

  // Of content, all of it together from a warm cache, on one thread.
  double reading = 0;
  double reading_and_decoding = 0;
};

struct MeasureOptions {
  std::chrono::duration<double> time = std::chrono::seconds(5);  // for all measurements together
  RecordReadOptions reading = {};
  std::stop_token stop = {};
};

// Reads the first 256 MiB at most, again and again. Takes about 40 MiB of memory, and what a record
// takes. Throws what reading throws; where there is no record, all rates are 0.
FileRates measure_file(FileSystem& files, const std::string& path, const MeasureOptions& options);

}  // namespace recordpipe
