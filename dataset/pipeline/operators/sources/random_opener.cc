#include <algorithm>
#include <utility>

#include "dataset/pipeline/operators/sources/record_plan.h"
#include "dataset/pipeline/plan/open_files.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "dataset/record/record_file_opening.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::internal {
namespace {

constexpr size_t kMappedAhead = 4;
// If the mapped files are larger than this in total, no further file is opened: their pages would
// evict each other from the page cache.
constexpr uint64_t kMaxMapped = uint64_t{64} << 20;

}  // namespace

bool RecordFiles::is_mappable(size_t number) const {
  if (!file_system.can_map(paths[number])) return false;
  try {
    return regular_file_size(file_system, paths[number]).has_value();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return false;  // it has no size
  }
}

class RandomOpener::File {
 public:
  File(RandomOpener& opener, size_t number) : opener_(opener), number_(number) {}
  virtual ~File() = default;
  virtual bool step() = 0;
  virtual parallel::Crew& crew() const = 0;
  // Does what is left to be done, if this may take several steps.
  virtual OpenRecordFilePtr take() { return std::move(opened_); }

 protected:
  RandomOpener& opener_;
  const size_t number_;
  OpenRecordFilePtr opened_;
};

// Opened in one step, by a thread of the pass.
class RandomOpener::MappedAhead final : public File {
 public:
  using File::File;
  ~MappedAhead() override { opener_.mapped_bytes_ -= bytes_; }

  bool step() override {
    if (opener_.mapped_bytes_ > kMaxMapped || !opener_.files_.is_mappable(number_)) return false;
    opened_ = opener_.map(number_);
    bytes_ = opened_->file.bytes().size();
    opener_.mapped_bytes_ += bytes_;
    return false;
  }
  parallel::Crew& crew() const override { return *opener_.files_.context.crew; }

 private:
  uint64_t bytes_ = 0;
};

// At a distance.
class RandomOpener::RangesAhead final : public File {
 public:
  RangesAhead(RandomOpener& opener, size_t number)
      : File(opener, number),
        opening_(opener.files_.file_system, opener.files_.paths[number], opener.files_.options,
                 opener.files_.opened->stop.token(), opener.crews_) {}

  bool step() override {
    if (opening_.step()) return true;
    if (!opened_ && opening_.finish()) {
      const auto file = opening_.file();
      opened_ = opener_.opened(number_, opening_.take(), *file);
      file->hint(0, file->size(), ReadHint::done);  // many may be open
    }
    return false;
  }
  parallel::Crew& crew() const override { return opening_.crew(); }
  OpenRecordFilePtr take() override {
    while (step()) {
    }
    return File::take();
  }

 private:
  RecordFileOpening opening_;
};

RandomOpener::RandomOpener(const RecordFiles& files) : files_(files) {}

RandomOpener::~RandomOpener() = default;

OpenRecordFilePtr RandomOpener::opened(size_t number, MappedRecordFile records,
                                       const RandomAccessFile& file) const {
  return std::make_shared<const OpenRecordFile>(
      std::move(records), fingerprint_of(files_.paths[number], file), files_.context.memory);
}

OpenRecordFilePtr RandomOpener::find_records(size_t number,
                                             std::shared_ptr<const RandomAccessFile> file) const {
  MappedRecordFile records(files_.file_system, files_.paths[number], files_.options,
                           {.use_index = true, .file = file, .stop = files_.opened->stop.token()});
  return opened(number, std::move(records), *file);
}

OpenRecordFilePtr RandomOpener::map(size_t number) const {
  const std::string& path = files_.paths[number];
  std::shared_ptr<const MappedFile> mapped = files_.file_system.map(path);
  const bool is_plain = detect_compression(*mapped, files_.options) == Compression::none;
  const auto& open_files = files_.context.open_files;
  if (open_files && is_plain) {
    std::string version = version_of(path, *mapped);
    mapped = open_files->keep(files_.file_system, path, std::move(version), std::move(mapped));
  }
  return find_records(number, std::move(mapped));
}

OpenRecordFilePtr RandomOpener::map_if_plain(size_t number) {
  if (OpenRecordFilePtr file = take(number)) return file;
  if (!files_.is_mappable(number)) return nullptr;
  try {
    return map(number);
  } catch (const Error& error) {
    if (!is_for_stream(error.kind())) throw;
    return nullptr;
  }
}

OpenRecordFilePtr RandomOpener::open(size_t number) {
  if (OpenRecordFilePtr file = take(number)) return file;
  const std::string& path = files_.paths[number];
  const auto status = files_.file_system.status(path);
  if (status && status->kind != FileKind::regular) {
    refuse_random_access(path, "no regular file", "shuffle with a buffer");
  }
  try {
    return map(number);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
  }
  try {
    const CallStopScope scope(files_.opened->stop.token());
    return find_records(number, files_.file_system.open_random(path));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    refuse_random_access(path, error.reason(),
                         "decompress or download it first, or shuffle with a buffer");
  }
}

OpenRecordFilePtr RandomOpener::take(size_t number) {
  const auto file = ahead_.take(number);
  try {
    return file ? file->take() : nullptr;
  } catch (const Error&) {
    return nullptr;  // opened again, which reports the failure
  }
}

bool RandomOpener::is_distant(size_t number) const {
  return files_.file_system.reads_ahead(files_.paths[number]);
}

void RandomOpener::open_ahead(size_t first, Access access) {
  const size_t count = files_.paths.size();
  const auto is_wanted = [&](size_t number) {
    return !files_.opened->mapped[number] && !ahead_.find(number);
  };
  // Files at a distance are closed when they were taken only: if the order is random, all are
  // needed.
  if (access == Access::sequential) ahead_.keep_only(first, first + kMappedAhead);
  for (size_t number = first; number < std::min(first + kMappedAhead, count); ++number) {
    if (!files_.context.crew || !is_wanted(number) || is_distant(number)) continue;
    if (mapped_bytes_ > kMaxMapped) break;
    ahead_.add(number, std::make_unique<MappedAhead>(*this, number));
  }
  if (access == Access::sequential) return;
  const CallStopScope scope(files_.opened->stop.token());
  const size_t end = std::min(first + kOpenedAtOnce, count);
  for (distant_end_ = std::max(first, distant_end_); distant_end_ < end; ++distant_end_) {
    if (!is_distant(distant_end_) || !is_wanted(distant_end_)) continue;
    ahead_.add(distant_end_, std::make_unique<RangesAhead>(*this, distant_end_));
  }
}

void refuse_random_access(const std::string& path, const std::string& why,
                          const std::string& hint) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = why + ": the records can't be had in any order",
               .hint = hint});
}

}  // namespace recordpipe::internal
