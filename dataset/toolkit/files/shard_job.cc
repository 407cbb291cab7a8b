#include "dataset/toolkit/files/shard_job.h"

#include <map>
#include <string_view>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/toolkit/files/file_name.h"
#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/internal/utf8.h"
#include "recordpipe/stop.h"

namespace recordpipe {
namespace {

Error refused(const std::string& input, const std::string& reason, std::string hint) {
  return Error({.kind = ErrorKind::invalid_argument,
                .path = input,
                .reason = reason,
                .hint = std::move(hint)});
}

// The name without the extension of a compression.
std::string stem_of_output(const std::string& input) {
  std::string name = bare_name(input);
  if (name.empty() || name == "." || name == ".." || name == "-") {
    throw refused(input, "has no name that its output could have", "");
  }
  if (!is_utf8(name)) {
    throw refused(input, "has a name that is not UTF-8, as names in a manifest are",
                  "give it another name");
  }
  return name;
}

// Makes an output, unless it is there.
ShardOutcome make_shard(
    const FileWork& work, const ShardJob& job, const std::string& hash, const ShardFolder& folder,
    const FileShare& share,
    const std::function<ShardCounts(size_t, const std::string&, size_t)>& make) {
  ShardOutcome outcome{.number = share.number};
  try {
    const std::string& input = job.inputs[share.number];
    throw_if_stopped(work.stop, input);
    outcome.record = begin_shard(work, hash, input, job.outputs[share.number]);
    const ShardRecord* const earlier = job.resume ? folder.earlier(outcome.record) : nullptr;
    if (earlier != nullptr) {
      outcome.record = *earlier;
      outcome.was_there = true;
      return outcome;
    }
    folder.forget(outcome.record.output);
    const ShardCounts counts =
        make(share.number, job.folder + "/" + outcome.record.output, share.threads);
    end_shard(work.files, job.folder, outcome.record, counts);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    outcome.error = error;
  }
  return outcome;
}

}  // namespace

std::vector<std::string> shard_names(const std::vector<std::string>& inputs,
                                     Compression compression) {
  std::vector<std::string> names;
  std::map<std::string, const std::string*> owners;
  for (const std::string& input : inputs) {
    std::string name = stem_of_output(input);
    if (compression == Compression::gzip) name += ".gz";
    if (compression == Compression::zlib) name += ".zlib";
    if (compression == Compression::zstd) name += ".zst";
    const auto [owner, is_new] = owners.try_emplace(name, &input);
    if (!is_new) {
      throw refused(input,
                    "its output would have the name of that of " + without_secrets(*owner->second) +
                        ": " + name,
                    "give the folders one at a time, each with a folder of its own");
    }
    if (is_name_of_job(name)) {
      throw refused(input, "its output would have the name of a file of the job itself: " + name,
                    "give it another name");
    }
    require_name_of_records(name);
    names.push_back(std::move(name));
  }
  return names;
}

bool run_shard_job(const FileWork& work, const ShardJob& job,
                   const std::function<ShardCounts(size_t number, const std::string& output,
                                                   size_t threads)>& make,
                   const std::function<void(const ShardOutcome&)>& report) {
  ShardFolder folder(work.files, job.folder);
  const std::string hash = shard_job_hash(job.operation);
  std::vector<ShardRecord> records;
  for_each_file<ShardOutcome>(
      job.inputs.size(), thread_count(job.threads),
      [&](size_t number) {
        FileTurn turn = turn_of_content(work, job.inputs[number]);
        // Each has an output, which is synced; and after a failure, as few as possible are made.
        turn.is_small = false;
        return turn;
      },
      [&](FileShare share) { return make_shard(work, job, hash, folder, share, make); },
      [&](ShardOutcome outcome) {
        report(outcome);
        if (!outcome.error) records.push_back(std::move(outcome.record));
        return !outcome.error || job.keep_going;
      });
  if (records.size() < job.inputs.size()) return false;
  folder.commit(records);
  return true;
}

}  // namespace recordpipe
