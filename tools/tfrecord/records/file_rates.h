// The read speed of a TFRecord file on this machine, and the speed of each step alone.
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

// Bytes per second; the fastest of all passes within the time.
struct FileRates {
  std::string path = {};
  uint64_t file_bytes = 0;     // read in one pass: the whole file, or less if time ran out
  uint64_t content_bytes = 0;  // in those: records with their framing
  uint64_t records = 0;        // in those
  bool whole = false;          // whether the whole file was read
  Compression compression = Compression::none;

  // Of the file's bytes, with read(): after the kernel was asked to evict them (empty if that is
  // impossible: a URL), and from the warm cache.
  std::optional<double> cold_storage = {};
  double warm_storage = 0;

  // Of content in memory, on one core: the cost of each step of a record.
  std::optional<double> inflation = {};  // empty if not compressed
  double framing = 0;                    // finds and copies records, without checks
  double crc = 0;
  double decoding = 0;  // parses and checks every feature of an Example
  double copying = 0;   // memcpy: upper limit for readers that copy

  // Of content, all steps together from a warm cache, on one thread.
  double reading = 0;
  double reading_and_decoding = 0;
};

struct MeasureOptions {
  std::chrono::duration<double> time = std::chrono::seconds(5);  // for all measurements together
  RecordReadOptions reading = {};
  std::stop_token stop = {};
};

// Reads at most the first 256 MiB, repeatedly. Takes about 40 MiB of memory, plus the largest
// record. Read errors are thrown; without any record, all rates are 0.
FileRates measure_file(FileSystem& files, const std::string& path, const MeasureOptions& options);

}  // namespace recordpipe
