#include "dataset/toolkit/jobs/shard_folder.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/version.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/sha256.h"

namespace recordpipe {
namespace {

constexpr char kRecords[] = "/.shards";
constexpr std::string_view kEnding = ".json";
// Of small objects: nearly all of the time is spent waiting.
constexpr size_t kRequestsAtOnce = 32;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The records of outputs in folders are in one folder: "a%2Fb.json".
std::string record_path(const std::string& folder, const std::string& output) {
  return folder + kRecords + "/" + replaced(replaced(output, "%", "%25"), "/", "%2F") +
         std::string(kEnding);
}

std::string output_of_record(const std::string& name) {
  return replaced(replaced(name.substr(0, name.size() - kEnding.size()), "%2F", "/"), "%25", "%");
}

// Calls consume(output, work(output)) in the order of the outputs; work() on several threads unless
// the folder is on this machine.
template <typename Result>
void for_each_record(FileSystem& files, const std::vector<std::string>& outputs,
                     const std::string& folder,
                     const std::function<Result(const std::string& output)>& work,
                     const std::function<void(const std::string& output, Result)>& consume) {
  size_t next = 0;
  for_each_file<Result>(
      outputs.size(), 1, [](size_t) { return FileTurn(); },
      [&](const FileShare& share) { return work(outputs[share.number]); },
      [&](Result result) {
        consume(outputs[next++], std::move(result));
        return true;
      },
      parallel::InOrderOptions{.threads = files.can_map(folder) ? 1 : kRequestsAtOnce,
                               .kind = parallel::CrewKind::waits});
}

std::string version_of(const FileWork& work, const std::string& input) {
  const auto file = open_random_input(work, input);
  return file ? file->identity() : std::string();
}

}  // namespace

bool is_name_of_job(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  const std::string_view last = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  return first == kManifestName || first == std::string_view(kRecords).substr(1) ||
         (last.starts_with('.') && last.ends_with(".partial"));
}

std::string shard_job_hash(const std::string& operation) {
  Sha256 hash;
  for (const std::string_view part :
       {std::string_view(RECORDPIPE_VERSION), std::string_view(operation)}) {
    hash.update(std::as_bytes(std::span(part)));
    hash.update(std::as_bytes(std::span("\n", 1)));
  }
  return hash.hex();
}

ShardRecord begin_shard(const FileWork& work, const std::string& job_hash, const std::string& input,
                        const std::string& output) {
  return {.job = job_hash,
          .input = without_secrets(input),
          .version = version_of(work, input),
          .output = output};
}

// Doesn't sync: a record that a crash tears or loses is as good as none, and its output is made
// again.
void end_shard(FileSystem& files, const std::string& folder, ShardRecord& record,
               const ShardCounts& counts) {
  record.counts = counts;
  measure_output(files, folder + "/" + record.output, record);
  const std::string line = to_json_line(record);
  const auto file = files.create(record_path(folder, record.output), CreateMode::truncate);
  file->write(std::as_bytes(std::span(line)));
  file->close();
}

void fail_shard(ShardRecord& record, const Error& error) {
  Error::Parts parts = error.parts();
  parts.path.clear();
  record.error = Error(std::move(parts)).what();
  if (!is_damage(error.kind())) record.version.clear();
}

Error failed_before(const ShardRecord& record, const std::string& input) {
  return Error({.kind = ErrorKind::corrupted,
                .path = input,
                .reason = "failed in an earlier run, and has not changed: " + record.error});
}

ShardFolder::ShardFolder(FileSystem& files, std::string folder)
    : files_(files), folder_(std::move(folder)), records_(folder_ + kRecords) {
  // Object stores have no locks. There, two jobs at the same time do the work twice; an output or
  // record is never half of each, because objects appear whole.
  if (is_object_url(records_)) {
    files_.make_directories(records_);
  } else {
    lock();
  }
  find_earlier();
}

// A run that ends removes the folder of the lock.
void ShardFolder::lock() {
  constexpr int kAttempts = 10;
  for (int i = 1; !lock_; ++i) {
    files_.make_directories(records_);
    try {
      lock_ = files_.lock(records_ + "/lock");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found || i == kAttempts) throw;
    }
  }
}

// Damaged records are as good as none: their outputs are made again.
void ShardFolder::find_earlier() {
  try {
    for (ShardRecord& record : read_manifest(files_, folder_ + "/" + kManifestName)) {
      earlier_.insert_or_assign(record.output, std::move(record));
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
  }
  std::vector<std::string> outputs;
  for (const std::string& name : files_.list(records_)) {
    if (name.ends_with(kEnding)) outputs.push_back(output_of_record(name));
  }
  for_each_record<std::optional<ShardRecord>>(
      files_, outputs, folder_,
      [&](const std::string& output) -> std::optional<ShardRecord> {
        try {
          const auto found = read_manifest(files_, record_path(folder_, output));
          if (found.size() == 1 && found.front().output == output) return found.front();
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::cancelled) throw;
        }
        return std::nullopt;
      },
      // Newer than the manifest, also if it is empty: prepare().
      [&](const std::string& output, std::optional<ShardRecord> record) {
        earlier_.insert_or_assign(output, record ? *std::move(record) : ShardRecord());
      });
}

const ShardRecord* ShardFolder::earlier(const ShardRecord& wanted) const {
  const auto found = earlier_.find(wanted.output);
  if (found == earlier_.end()) return nullptr;
  const ShardRecord& earlier = found->second;
  if (wanted.version.empty()) return nullptr;
  ShardRecord same = wanted;
  same.counts = earlier.counts;
  same.bytes = earlier.bytes;
  same.crc = earlier.crc;
  same.error = earlier.error;
  // As lines, in which bytes of an input's path that are not UTF-8 are replaced.
  if (to_json_line(same) != to_json_line(earlier)) return nullptr;
  if (!earlier.error.empty()) return &earlier;
  const bool is_there = regular_file_size(files_, folder_ + "/" + wanted.output) == earlier.bytes;
  return is_there ? &earlier : nullptr;
}

void ShardFolder::prepare(const std::string& output) const {
  if (output.find('/') != output.npos) {
    files_.make_directories(parent_directory(folder_ + "/" + output));
  }
  if (!earlier_.contains(output)) return;
  const auto file = files_.create(record_path(folder_, output), CreateMode::truncate);
  file->sync();
  file->close();
  files_.sync_directory(records_);
}

void ShardFolder::commit(const std::vector<ShardRecord>& records) {
  AtomicFile manifest(files_, folder_ + "/" + kManifestName);
  for (const ShardRecord& record : records) {
    const std::string line = to_json_line(record);
    manifest.write(std::as_bytes(std::span(line)));
  }
  manifest.commit();
  std::vector<std::string> outputs;
  for (const ShardRecord& record : records) outputs.push_back(record.output);
  for_each_record<bool>(
      files_, outputs, folder_,
      [&](const std::string& output) {
        files_.remove(record_path(folder_, output));
        return true;
      },
      [](const std::string&, bool) {});
  if (lock_) files_.remove(records_ + "/lock");
  files_.remove_empty_directory(records_);
}

}  // namespace recordpipe
