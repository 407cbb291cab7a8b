// Measures how fast a TFRecord file can be read on this machine, and how fast each step is alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// All rates are in bytes per second, of the fastest pass within the time.
struct FileRates {
  std::string path = {};
  uint64_t file_bytes = 0;     // read in the longest pass: the whole file, or less
  uint64_t content_bytes = 0;  // in `file_bytes`: records with their framing
  uint64_t records = 0;        // in `file_bytes`
  bool whole = false;          // whether the whole file was read
  Compression compression = Compression::none;

  // Rates of reading the file's bytes with read(): after the kernel was asked to evict them (empty
  // for a URL), and from the warm cache.
  std::optional<double> cold_storage = {};
  double warm_storage = 0;

  // Rates of each step alone, on content in memory, on one core.
  std::optional<double> inflation = {};  // empty if not compressed
  double framing = 0;                    // finds and copies records, without checks
  double crc = 0;
  double decoding = 0;  // parses and checks every feature of an Example
  double copying = 0;   // memcpy: upper limit for readers that copy

  // Rates of all steps together, in content bytes, from a warm cache, on one thread.
  double reading = 0;
  double reading_and_decoding = 0;
};

struct MeasureOptions {
  std::chrono::duration<double> time = std::chrono::seconds(5);  // for all measurements together
  RecordReadOptions reading = {};
  std::stop_token stop = {};
};

// Reads at most the first 256 MiB, repeatedly. Takes about 40 MiB of memory, plus the largest
// record. Throws read errors; if the file has no records, all rates are 0.
FileRates measure_file(FileSystem& files, const std::string& path, const MeasureOptions& options);

}  // namespace recordpipe
