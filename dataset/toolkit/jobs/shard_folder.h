// The folder of a job that makes one file from each of many (shard_job.h): what is there already,
// and what each output was made from.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/jobs/shard_record.h"
#include "recordpipe/base/error.h"

namespace recordpipe {

inline constexpr char kManifestName[] = "manifest.jsonl";

// Whether an output can't have this name: the manifest, the records, and files that are being
// written (atomic_file.h) have such names.
bool is_name_of_job(std::string_view name);

// The hash of an operation and its options, as text, and of the version of this library.
std::string shard_job_hash(const std::string& operation);

// The record of an output that is to be made: without its counts. The input's version is that of
// now, so this is called before the input is read.
ShardRecord begin_shard(const FileWork& work, const std::string& job_hash, const std::string& input,
                        const std::string& output);
// Measures the output, which has `records` records, and writes its record. May be called in any
// process that has the folder, also several times.
void end_shard(FileSystem& files, const std::string& folder, ShardRecord& record,
               const ShardCounts& counts);

// Makes `record` that of a failure. A failure that may pass, such as one of a network, has no
// version: earlier() doesn't find it.
void fail_shard(ShardRecord& record, const Error& error);
// The error of an input that has failed in an earlier run.
Error failed_before(const ShardRecord& record, const std::string& input);

// Only one process at a time has it, except in an object store. earlier() and prepare() are
// thread-safe.
class ShardFolder {
 public:
  // Makes the folder if it is missing, and reads the records that earlier runs have left in it.
  // Throws Error{busy} while another process has it.
  ShardFolder(FileSystem& files, std::string folder);

  // The record of an earlier run of the same job from the same input, if that output is there or
  // can't be made; otherwise null.
  const ShardRecord* earlier(const ShardRecord& wanted) const;
  // Must be called before an output is made anew: what earlier runs have recorded of it, also of
  // other jobs, holds no longer, even if this run is killed before it records its own. Makes the
  // output's folder.
  void prepare(const std::string& output) const;

  // Writes the manifest, which replaces the records.
  void commit(const std::vector<ShardRecord>& records);

 private:
  void lock();
  void find_earlier();

  FileSystem& files_;
  const std::string folder_;
  const std::string records_;  // folder
  std::unique_ptr<FileLock> lock_;
  std::map<std::string, ShardRecord> earlier_;  // by output
};

}  // namespace recordpipe
