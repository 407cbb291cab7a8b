// Makes one file from each of many, in a folder: a job that can be stopped and resumed.
//
// Each output appears when it is whole. Beside the outputs, .shards/NAME.json says what each was
// made from (shard_record.h). At the end, these records become manifest.jsonl, in the order of the
// inputs: when all outputs are there or, with keep_going, with a record of each failure, too.
// Making an output twice is harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/jobs/shard_folder.h"
#include "dataset/toolkit/jobs/shard_record.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

struct ShardJob {
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};  // of each input, its name in the folder
  std::string folder = {};                // made if it is missing
  // All that determines an output except its input, as text: the operation and its options.
  std::string operation = {};
  // Keeps the outputs that an earlier run of the same job has made from the same input. An input
  // whose damage has made it fail, and that is the same, fails again without being read.
  bool resume = false;
  // Goes on after a file that failed.
  bool keep_going = false;
  size_t threads = 0;  // 0: available_cpus()
};

// The extension is that of the compression: "a/x.tfrecord.bz2" becomes "x.tfrecord.zst". Without a
// compression, each input keeps its own (compression_of_shard()), and its name. A file below one of
// `folders` (FilesAndFolders) keeps its place there: "in/a/x" becomes "a/x". "in/../x" is not below
// "in": no name has "..". `ending`: of outputs of another format: with ".parquet", "x.tfrecord.gz"
// becomes "x.parquet"; with ".tfrecord" and gzip, "x.parquet" becomes "x.tfrecord.gz". Throws
// Error{invalid_argument} if two inputs have the same name, or if one has none, a name that is not
// UTF-8, that of another format (format_names.h), or one that the job itself needs.
std::vector<std::string> shard_names(const std::vector<std::string>& inputs,
                                     std::optional<Compression> compression,
                                     const std::vector<std::string>& folders = {},
                                     const std::string& ending = {});
// The compression of the output that is made of an input: `given`, or else that of the input.
// Throws Error{unsupported} if that, by the input's name or its content, is only read.
Compression compression_of_shard(FileSystem& files, const std::string& input,
                                 std::optional<Compression> given,
                                 const RecordReadOptions& reading);

struct ShardOutcome {
  size_t number = 0;                // of the input
  ShardRecord record = {};          // unless it failed
  bool was_there = false;           // the output of an earlier run was kept
  std::optional<Error> error = {};  // why it failed
};

// Calls make(number, path of the output, threads) for each input whose output is not there: from
// several threads at a time. It writes the output, which must appear whole or not at all, and
// returns its counts. report() is called on the calling thread, in the order of the inputs; without
// keep_going, it ends with the first failure and the outputs that are made until then. Returns
// whether all outputs are there. Throws Error{cancelled}, and Error{busy} while another run uses
// the folder.
bool run_shard_job(const FileWork& work, const ShardJob& job,
                   const std::function<ShardCounts(size_t number, const std::string& output,
                                                   size_t threads)>& make,
                   const std::function<void(const ShardOutcome&)>& report);

}  // namespace recordpipe
