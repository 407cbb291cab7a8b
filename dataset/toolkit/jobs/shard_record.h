// What is known of a file that was made from another one: the lines of a manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "recordpipe/io/file.h"
#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// What a file was made of.
struct ShardCounts {
  uint64_t records = 0;          // in it
  DamageSkipped skipped = {};    // of the input
  uint64_t records_skipped = 0;  // whose image can't be decoded, which they are resized with

  bool operator==(const ShardCounts&) const = default;
};

struct ShardRecord {
  std::string job = {};      // the hash of all that determines the output, except for the input
  std::string input = {};    // path; of a URL, without passwords and tokens
  std::string version = {};  // RandomAccessFile::identity() of the input; empty: unknown
  std::string output = {};   // name in the folder; may be below other folders in it: "a/b"
  ShardCounts counts = {};
  uint64_t bytes = 0;  // of the output
  uint32_t crc = 0;    // CRC-32C of all bytes of the output
  // Why there is no output; empty: it is there. Without it, there are no counts.
  std::string error = {};

  bool operator==(const ShardRecord&) const = default;
};

// Adds "regions_skipped" and "bytes_skipped" if there are any, and "compressed_bytes_skipped" if
// there are any.
void add_skipped(const DamageSkipped& skipped, nlohmann::ordered_json& json);

// One line of JSON with a newline: {"job", "input", "version", "output", "records", "bytes",
// "crc32c"}, those of add_skipped(), and "records_skipped" if there are any. crc32c is a string of
// eight hexadecimal digits. Of a failure: {"job", "input", "version", "output", "error"}.
std::string to_json_line(const ShardRecord& record);
// Throws Error{corrupted} with `path` and the line's number, counted from 1, for a line that
// to_json_line() would not write; also if "output" could lead out of the
// folder.
ShardRecord parse_shard_record(std::string_view line, const std::string& path, uint64_t number);

// Reads the records of a manifest. Throws parse_shard_record()'s errors, Error{corrupted} for an
// empty file, and Error{limit_exceeded} for more than 1 GiB.
std::vector<ShardRecord> read_manifest(FileSystem& files, const std::string& path);

// Computes bytes and crc of the file at `path`. advance() is called with the bytes of each read,
// and may throw.
void measure_output(FileSystem& files, const std::string& path, ShardRecord& record,
                    const std::function<void(uint64_t bytes)>& advance = {});

// What is where an output of a manifest should be.
struct FoundOutput {
  bool is_regular = false;
  uint64_t bytes = 0;
  std::optional<uint32_t> crc = {};  // of a regular file with as many bytes as expected
};

// Null if nothing is there, and of a failure. A file of another size is not read.
std::optional<FoundOutput> find_output(FileSystem& files, const std::string& path,
                                       const ShardRecord& expected,
                                       const std::function<void(uint64_t bytes)>& advance = {});

// How an output differs: "missing", "no regular file", "80 bytes, not the 88 of the manifest",
// "CRC-32C 00000000, not the 1234abcd of the manifest", of a failure "not made: " and why; empty if
// it doesn't.
std::string difference(const std::optional<FoundOutput>& found, const ShardRecord& expected);

}  // namespace recordpipe
