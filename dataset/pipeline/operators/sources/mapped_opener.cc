#include <algorithm>
#include <utility>
#include <vector>

#include "dataset/pipeline/operators/sources/record_plan.h"
#include "dataset/pipeline/plan/open_files.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe::internal {
namespace {

constexpr size_t kMappedAhead = 4;

}  // namespace

bool RecordFiles::is_mappable(size_t number) const {
  if (!file_system.can_map(paths[number])) return false;
  try {
    const auto status = file_system.status(paths[number]);
    return status && status->kind == FileKind::regular;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return false;  // it has no size
  }
}

OpenRecordFilePtr RecordFiles::find_records(size_t number,
                                            std::shared_ptr<const RandomAccessFile> file) const {
  const std::string& path = paths[number];
  MappedRecordFile records(file_system, path, options,
                           {.use_index = true, .file = file, .stop = opened->stop.token()});
  return std::make_shared<const OpenRecordFile>(std::move(records), fingerprint_of(path, *file),
                                                context.memory);
}

MappedOpener::MappedOpener(const RecordFiles& files) : files_(files) {
  if (!files.context.crew || files.paths.size() < 2) return;
  ahead_ = std::make_shared<OpenAhead<RecordFileAhead>>(files.context.crew, [this](size_t number) {
    return std::make_shared<RecordFileAhead>(
        [this, number] { return files_.is_mappable(number) ? open(number) : nullptr; });
  });
}

MappedOpener::~MappedOpener() {
  if (ahead_) ahead_->stop();
}

OpenRecordFilePtr MappedOpener::open(size_t number) const {
  const std::string& path = files_.paths[number];
  std::shared_ptr<const MappedFile> mapped = files_.file_system.map(path);
  const auto head = mapped->read(0, kRecordHeaderSize, {});
  const bool is_plain = detect_record_compression(head, files_.options) == Compression::none;
  const auto& open_files = files_.context.open_files;
  if (open_files && is_plain) {
    std::string version = version_of(path, *mapped);
    mapped = open_files->keep(files_.file_system, path, std::move(version), std::move(mapped));
  }
  return files_.find_records(number, std::move(mapped));
}

OpenRecordFilePtr MappedOpener::take(size_t number) {
  const auto file = ahead_ ? ahead_->take(number) : nullptr;
  return file ? std::move(file->opened) : nullptr;
}

void MappedOpener::open_ahead(size_t first) {
  if (!ahead_) return;
  const size_t end = std::min(first + kMappedAhead, files_.paths.size());
  std::vector<size_t> numbers;
  for (size_t number = first; number < end; ++number) {
    if (!files_.opened->mapped[number]) numbers.push_back(number);
  }
  ahead_->keep_only(first, end);
  ahead_->want(numbers);
}

}  // namespace recordpipe::internal
