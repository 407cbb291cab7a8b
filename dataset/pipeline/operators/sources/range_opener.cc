#include <algorithm>
#include <utility>
#include <vector>

#include "dataset/pipeline/operators/sources/record_plan.h"
#include "recordpipe/base/internal/call_stop.h"

namespace recordpipe::internal {
namespace {

constexpr size_t kRangesAhead = 128;

}  // namespace

void refuse_random_access(const std::string& path, const std::string& why,
                          const std::string& hint) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = why + ": tfrecord_files can't give its records in any order, as "
                               "global_shuffle needs them",
               .hint = hint});
}

RangeOpener::RangeOpener(const RecordFiles& files)
    : files_(files),
      ahead_(std::make_shared<OpenAhead<RecordFileAhead>>(
          std::make_shared<parallel::Crew>(kRangesAhead, parallel::CrewKind::waits),
          [this](size_t number) {
            return std::make_shared<RecordFileAhead>([this, number] { return read(number); });
          })) {}

OpenRecordFilePtr RangeOpener::read(size_t number) const {
  const CallStopScope scope(files_.opened->stop.token());
  return files_.find_records(number, files_.file_system.open_random(files_.paths[number]));
}

OpenRecordFilePtr RangeOpener::open(size_t number) const {
  try {
    return read(number);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    refuse_random_access(files_.paths[number], error.reason(),
                         "decompress or download it first, or shuffle with a buffer");
  }
}

OpenRecordFilePtr RangeOpener::take(size_t number) {
  const auto file = ahead_->take(number);
  if (!file) return nullptr;
  try {
    if (!file->was_begun) file->open();  // no thread has come to it
  } catch (const Error&) {
    // Opened again, which reports the failure.
  }
  return std::move(file->opened);
}

// Files are closed when they were taken only: if the order is random, all are needed.
void RangeOpener::open_ahead(size_t first) {
  const size_t end = std::min(first + kRangesAhead, files_.paths.size());
  std::vector<size_t> numbers;
  for (end_ = std::max(first, end_); end_ < end; ++end_) {
    const bool is_distant = files_.file_system.reads_ahead(files_.paths[end_]);
    if (is_distant && !files_.opened->mapped[end_]) numbers.push_back(end_);
  }
  ahead_->want(numbers);
}

}  // namespace recordpipe::internal
