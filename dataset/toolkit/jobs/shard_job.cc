#include "dataset/toolkit/jobs/shard_job.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/lower_case.h"
#include "dataset/toolkit/files/file_name.h"
#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

Error refused(const std::string& input, const std::string& reason, std::string hint) {
  return Error({.kind = ErrorKind::invalid_argument,
                .path = input,
                .reason = reason,
                .hint = std::move(hint)});
}

// Of a file below the folder: its name from there, without ".." and "."; else empty.
std::string place_below(const std::string& folder, const std::string& input) {
  using Path = std::filesystem::path;
  const Path normal = Path(input).lexically_normal();
  const std::string place = normal.lexically_relative(Path(folder).lexically_normal()).string();
  return place == "." || place == ".." || place.starts_with("../") ? "" : place;
}

// The place below the first of the folders that has the input; without one, its file name.
std::string name_of_output(const std::string& input, const std::vector<std::string>& folders) {
  std::string name = file_name(input);
  for (const std::string& folder : folders) {
    const std::string place = place_below(folder, input);
    if (place.empty()) continue;
    name = place;
    break;
  }
  const std::string last = bare_name(name);
  if (last.empty() || last == "." || last == ".." || last == "-") {
    throw refused(input, "has no name that its output could have", "");
  }
  if (!is_utf8(name)) {
    throw refused(input, "has a name that is not UTF-8, as names in a manifest are",
                  "give it another name");
  }
  return name;
}

std::string with_extension(std::string name, Compression compression) {
  name.resize(name.size() - std::max(compression_extension(name), read_only_extension(name)));
  if (compression == Compression::gzip) name += ".gz";
  if (compression == Compression::zlib) name += ".zlib";
  if (compression == Compression::zstd) name += ".zst";
  return name;
}

// Of a table for records, or of records for a table.
std::string name_in_format(std::string name, const std::string& ending, Compression compression) {
  constexpr std::string_view kRecordEndings[] = {".tfrecord", ".tfrecords"};
  constexpr std::string_view kTableEndings[] = {".parquet", ".pq", ".arrow", ".feather", ".ipc"};
  const bool is_of_records = ending == kRecordEndings[0];
  if (!is_of_records) name = with_extension(std::move(name), Compression::none);
  const std::string lower = lower_case(name);
  for (const std::string_view old : is_of_records
                                        ? std::span<const std::string_view>(kTableEndings)
                                        : std::span<const std::string_view>(kRecordEndings)) {
    if ((is_of_records ? lower : name).ends_with(old)) {
      name.resize(name.size() - old.size());
      break;
    }
  }
  return is_of_records ? with_extension(name + ending, compression) : name + ending;
}

// Makes an output, unless it is there.
ShardOutcome make_shard(
    const FileWork& work, const ShardJob& job, const std::string& hash, const ShardFolder& folder,
    const FileShare& share,
    const std::function<ShardCounts(size_t, const std::string&, size_t)>& make) {
  const std::string& input = job.inputs[share.number];
  ShardOutcome outcome{
      .number = share.number,
      .record = {
          .job = hash, .input = without_secrets(input), .output = job.outputs[share.number]}};
  try {
    throw_if_stopped(work.stop, input);
    outcome.record = begin_shard(work, hash, input, job.outputs[share.number]);
    const ShardRecord* const earlier = job.resume ? folder.earlier(outcome.record) : nullptr;
    if (earlier != nullptr) {
      outcome.record = *earlier;
      if (!earlier->error.empty()) throw failed_before(*earlier, input);
      outcome.was_there = true;
      return outcome;
    }
    folder.prepare(outcome.record.output);
    const ShardCounts counts =
        make(share.number, job.folder + "/" + outcome.record.output, share.threads);
    end_shard(work.files, job.folder, outcome.record, counts);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    outcome.error = error;
    if (outcome.record.error.empty()) fail_shard(outcome.record, error);
  }
  return outcome;
}

}  // namespace

std::vector<std::string> shard_names(const std::vector<std::string>& inputs,
                                     std::optional<Compression> compression,
                                     const std::vector<std::string>& folders,
                                     const std::string& ending) {
  std::vector<std::string> names;
  std::map<std::string, const std::string*> owners;
  for (const std::string& input : inputs) {
    std::string name = name_of_output(input, folders);
    if (!ending.empty()) {
      name = name_in_format(std::move(name), ending, compression.value_or(Compression::none));
    } else if (compression) {
      name = with_extension(std::move(name), *compression);
    }
    const auto [owner, is_new] = owners.try_emplace(name, &input);
    if (!is_new) {
      throw refused(
          input,
          "its output would have the name of that of " + without_secrets(*owner->second) + ": " +
              name,
          "give the folder above them with --recursive (in Python, recursive=True), which "
          "keeps the folders below it, or one folder at a time");
    }
    if (is_name_of_job(name)) {
      throw refused(input, "its output would have the name of a file of the job itself: " + name,
                    "give it another name");
    }
    // What is only compressed so fails by itself, in compression_of_shard().
    if (ending.empty())
      require_name_of_records(name.substr(0, name.size() - read_only_extension(name)));
    names.push_back(std::move(name));
  }
  return names;
}

Compression compression_of_shard(FileSystem& files, const std::string& input,
                                 std::optional<Compression> given,
                                 const RecordReadOptions& reading) {
  if (given) return *given;
  const Compression found = detect_compression(files, input, reading);
  const std::string name = file_name(input);
  const size_t extension = read_only_extension(name);
  if (found < Compression::bzip2 && extension == 0) return found;
  throw Error(
      {.kind = ErrorKind::unsupported,
       .path = input,
       .reason =
           (extension > 0 ? name.substr(name.size() - extension) : std::string(to_string(found))) +
           " is only read, not written, and its output would be compressed as it is",
       .hint = "choose a compression of the outputs, or none: --compression gzip (in Python, "
               "compression=\"gzip\")"});
}

bool run_shard_job(const FileWork& work, const ShardJob& job,
                   const std::function<ShardCounts(size_t number, const std::string& output,
                                                   size_t threads)>& make,
                   const std::function<void(const ShardOutcome&)>& report) {
  ShardFolder folder(work.files, job.folder);
  const std::string hash = shard_job_hash(job.operation);
  std::vector<ShardRecord> records;
  bool is_complete = true;
  std::mutex mutex;
  std::map<size_t, ShardOutcome> finished;  // and not reported, by number
  for_each_file<size_t>(
      job.inputs.size(), thread_count(job.threads),
      [&](size_t number) {
        FileTurn turn = turn_of_content(work, job.inputs[number]);
        // Each has an output, which is synced; and after a failure, as few as possible are made.
        turn.is_small = false;
        return turn;
      },
      [&](FileShare share) {
        ShardOutcome outcome = make_shard(work, job, hash, folder, share, make);
        const std::lock_guard lock(mutex);
        finished.emplace(share.number, std::move(outcome));
        return share.number;
      },
      [&](size_t number) {
        std::unique_lock lock(mutex);
        ShardOutcome outcome = std::move(finished.extract(number).mapped());
        lock.unlock();
        report(outcome);
        is_complete = is_complete && !outcome.error;
        if (outcome.error && !job.keep_going) return false;
        records.push_back(std::move(outcome.record));
        return true;
      });
  // After a failure: what other threads made meanwhile.
  for (const auto& [number, outcome] : finished) {
    if (!outcome.error) report(outcome);
  }
  if (records.size() < job.inputs.size()) return false;
  folder.commit(records);
  return is_complete;
}

}  // namespace recordpipe
