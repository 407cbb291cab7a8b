#include "recordpipe/cifar/convert.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/require.h"
#include "dataset/cifar/split_writer.h"
#include "dataset/parallel/jobs.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/sha256.h"

namespace recordpipe {
namespace {

class ArchiveFile final : public ByteSource {
 public:
  // After read() has returned 0, `hash` (may be null) covers the whole file. read() calls
  // `progress` with `activity`, which must outlive this object, and throws Error{cancelled} after a
  // stop request.
  ArchiveFile(FileSystem& file_system, const std::string& path, std::shared_ptr<Sha256> hash,
              std::string_view activity, ProgressFunction progress, std::stop_token stop);

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override { return file_->path(); }

 private:
  std::unique_ptr<ByteSource> file_;
  std::shared_ptr<Sha256> hash_;
  ProgressFunction progress_;
  std::stop_token stop_;
  Progress state_;
  std::chrono::steady_clock::time_point next_report_ = {};
};

ArchiveFile::ArchiveFile(FileSystem& file_system, const std::string& path,
                         std::shared_ptr<Sha256> hash, std::string_view activity,
                         ProgressFunction progress, std::stop_token stop)
    : file_(file_system.open_source(path)),
      hash_(std::move(hash)),
      progress_(std::move(progress)),
      stop_(std::move(stop)),
      state_{.activity = activity} {
  state_.total = regular_file_size(file_system, path);
}

size_t ArchiveFile::read(std::span<std::byte> out) {
  throw_if_stopped(stop_, path());
  const size_t count = file_->read(out);
  if (hash_) hash_->update(out.first(count));
  state_.done += count;
  if (progress_) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_report_ || count == 0) {
      next_report_ = now + std::chrono::milliseconds(100);
      progress_(state_);
    }
  }
  return count;
}

constexpr size_t kSplits = kCifarSplits.size();

// The batches of a split, as indices into cifar_batch_names(). The split takes the fifths
// [first_fifth, last_fifth) of each batch.
struct SplitPlan {
  std::vector<size_t> places;
  size_t first_fifth = 0;
  size_t last_fifth = 5;
};

const std::array<SplitPlan, kSplits>& plans_of(CifarDataset dataset) {
  static const std::array<SplitPlan, kSplits> kCifar10 = {SplitPlan{{0, 1, 2, 3}}, SplitPlan{{4}},
                                                          SplitPlan{{5}}};
  static const std::array<SplitPlan, kSplits> kCifar100 = {SplitPlan{{0}, 0, 4},
                                                           SplitPlan{{0}, 4, 5}, SplitPlan{{1}}};
  return dataset == CifarDataset::cifar10 ? kCifar10 : kCifar100;
}

// Starts writing each split as soon as its batches are complete.
class SplitConversion {
 public:
  SplitConversion(FileSystem& file_system, std::string data_dir, const CifarConvertOptions& options)
      : file_system_(file_system),
        data_dir_(std::move(data_dir)),
        write_options_{.compression = options.compression,
                       .compression_level = options.compression_level,
                       .shards = options.shards,
                       .stop = stop_.get_token()},
        forward_stop_(options.stop, Forward{stop_}) {}

  // The caller, or a split that fails, requests the stop.
  std::stop_token stop_token() const { return stop_.get_token(); }

  void add(const CifarArchiveKind& kind, size_t place, CifarBatch batch) {
    const auto& plans = plans_of(kind.dataset);
    batches_.resize(cifar_batch_names(kind.dataset).size());
    batches_[place] = std::make_shared<const CifarBatch>(std::move(batch));
    for (size_t split = 0; split < kSplits; ++split) {
      if (splits_[split].valid() || !is_complete(plans[split])) continue;
      start(split, plans[split]);
    }
    // A split that is being written owns its batches.
    for (size_t split = 0; split < kSplits; ++split) {
      if (!splits_[split].valid()) continue;
      for (const size_t used : plans[split].places) batches_[used].reset();
    }
  }

  // Waits for all splits. May be called only after the archive was read to its end.
  std::vector<FinishedFile> finish() {
    std::vector<FinishedFile> files;
    for (auto& split : splits_) {
      for (FinishedFile& file : split.get()) files.push_back(std::move(file));
    }
    return files;
  }

  // Stops all splits after a failure. If a split failed with an error other than `cancelled`,
  // throws that error, because it caused the other failures.
  void abandon() {
    stop_.request_stop();
    for (auto& split : splits_) {
      if (!split.valid()) continue;
      try {
        split.get();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::cancelled) throw;
      }
    }
  }

 private:
  struct Forward {
    std::stop_source to;
    void operator()() { to.request_stop(); }
  };

  bool is_complete(const SplitPlan& plan) const {
    for (const size_t place : plan.places) {
      if (!batches_[place]) return false;
    }
    return true;
  }

  void start(size_t split, const SplitPlan& plan) {
    std::vector<BatchRange> ranges;
    for (const size_t place : plan.places) {
      const size_t rows = batches_[place]->rows();
      ranges.push_back({batches_[place], rows * plan.first_fifth / 5, rows * plan.last_fifth / 5});
    }
    splits_[split] = jobs_.submit([this, split, ranges = std::move(ranges)] {
      try {
        return write_split(file_system_, data_dir_, kCifarSplits[split], ranges, write_options_);
      } catch (...) {
        stop_.request_stop();
        throw;
      }
    });
  }

  FileSystem& file_system_;
  std::string data_dir_;
  std::stop_source stop_;
  SplitWriteOptions write_options_;
  std::stop_callback<Forward> forward_stop_;
  std::vector<std::shared_ptr<const CifarBatch>> batches_;  // of incomplete splits
  std::array<parallel::Job<std::vector<FinishedFile>>, kSplits> splits_;
  // Last: waits for the splits. At least one thread beside the one that reads the archive: a batch
  // is held until its split is written.
  parallel::Jobs jobs_{std::max<size_t>(2, available_cpus())};
};

// Removes the files that killed conversions have left behind.
void clean_up(FileSystem& file_system, const std::string& data_dir) {
  remove_abandoned_partials(file_system, data_dir, is_split_file_name);
  for (const CifarDataset dataset : {CifarDataset::cifar10, CifarDataset::cifar100}) {
    for (const bool binary : {false, true}) {
      const std::string_view name = cifar_folder_name({dataset, binary});
      remove_abandoned_extraction(file_system, data_dir + "/" + std::string(name));
    }
  }
}

void check_sha256(const std::string& archive, const std::string& actual,
                  const std::string& expected) {
  if (actual == expected) return;
  throw Error({.kind = ErrorKind::checksum_mismatch,
               .path = archive,
               .reason = "its SHA-256 is " + actual + ", not " + expected,
               .hint = "download the archive again, or check the expected checksum"});
}

}  // namespace

CifarConvertReport convert_cifar(FileSystem& file_system, const std::string& archive,
                                 const std::string& data_dir, const CifarConvertOptions& options) {
  require(options.shards >= 1 && options.shards <= kMaxCifarShards,
          "shards must be from 1 to " + std::to_string(kMaxCifarShards));
  std::optional<std::string> expected;
  if (options.sha256) expected = parse_sha256(*options.sha256);
  clean_up(file_system, data_dir);
  const auto hash = options.hash || expected ? std::make_shared<Sha256>() : nullptr;
  ExtractedFolder extracted(file_system, data_dir);
  SplitConversion splits(file_system, data_dir, options);

  CifarConvertReport report;
  std::vector<FinishedFile> files;
  try {
    report.kind = read_cifar_archive(
        std::make_unique<ArchiveFile>(file_system, archive, hash,
                                      options.synthetic ? "convert synthetic" : "convert",
                                      options.progress, splits.stop_token()),
        [&](const CifarArchiveKind& kind, size_t place, CifarBatch batch) {
          splits.add(kind, place, std::move(batch));
        },
        options.keep_extracted ? &extracted : nullptr);
    if (hash) report.sha256 = hash->hex();
    if (expected) check_sha256(archive, report.sha256, *expected);
    files = splits.finish();
  } catch (...) {
    splits.abandon();
    throw;
  }

  if (options.keep_extracted) {
    extracted.commit();
    report.extracted = extracted.path();
  }
  remove_source_note(file_system, data_dir);
  if (options.synthetic) mark_synthetic(file_system, data_dir);
  for (FinishedFile& finished : files) {
    finished.file->commit();
    const std::string& path = finished.file->path();
    const auto status = file_system.status(path);
    report.files.push_back({.path = path,
                            .records = finished.records,
                            .bytes = status ? status->size : 0,
                            .seconds = finished.seconds});
  }
  report.removed = find_split_files(file_system, data_dir, options.shards).others;
  for (const std::string& path : report.removed) file_system.remove(path);
  if (!report.removed.empty()) file_system.sync_directory(data_dir);
  if (!options.synthetic) unmark_synthetic(file_system, data_dir);
  note_source(file_system, data_dir, archive, report.sha256);
  return report;
}

}  // namespace recordpipe
