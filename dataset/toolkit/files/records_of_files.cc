#include <algorithm>
#include <deque>
#include <utility>

#include "dataset/io/read_ahead.h"
#include "dataset/parallel/jobs.h"
#include "dataset/toolkit/files/input_records.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxAhead = 16;
// Opening a file takes little time beside reading it.
constexpr size_t kMaxOpening = 4;
constexpr ReadAheadOptions kInflatedAhead{.block_size = size_t{256} << 10, .blocks = 4};

std::unique_ptr<RecordReader> open_reader(const FileWork& work, const std::string& path,
                                          const InputStatus& status,
                                          const RecordReadOptions& reading, bool is_one_of_many) {
  auto source = open_counted(work, path, status);
  if (!is_one_of_many) return std::make_unique<RecordReader>(std::move(source), reading);
  DetectedSource detected = detect_source(std::move(source), reading);
  if (detected.compression != Compression::none) {
    detected.source = std::make_unique<ReadAhead>(std::move(detected.source), kInflatedAhead);
  }
  RecordReadOptions inflated = reading;
  inflated.compression = Compression::none;
  return std::make_unique<RecordReader>(std::move(detected.source), inflated);
}

}  // namespace

struct RecordsOfFiles::State {
  const FileWork& work;
  const std::vector<std::string>& paths;
  const RecordReadOptions reading;
  const size_t max_ahead;
  std::deque<parallel::Job<std::unique_ptr<RecordReader>>> opening = {};  // not valid: a stream
  size_t next = 0;                                                        // path to be opened ahead
  std::unique_ptr<RecordReader> current = nullptr;
  // The paths of the files read so far. Records have views of them: another view is another file.
  std::deque<std::string> names = {};
  parallel::Jobs jobs;  // last: ends before its jobs' data is destroyed

  std::unique_ptr<RecordReader> open(const std::string& path, const InputStatus& status) const {
    return open_reader(work, path, status, reading, paths.size() > 1);
  }
  std::unique_ptr<RecordReader> open(const std::string& path) const {
    return open(path, input_status(work, path));
  }

  void open_ahead() {
    for (; next < paths.size() && opening.size() <= max_ahead; ++next) {
      const std::string& path = paths[next];
      const InputStatus status = input_status(work, path);
      if (status.is_stream) {
        opening.emplace_back();
      } else {
        opening.push_back(jobs.submit([this, &path, status] { return open(path, status); }));
      }
    }
  }

  // Opens the next file. Returns false at the end.
  bool open_next() {
    if (max_ahead == 0) {
      if (next == paths.size()) return false;
      current = open(paths[next++]);
    } else {
      open_ahead();
      if (opening.empty()) return false;
      auto coming = std::move(opening.front());
      opening.pop_front();
      current = coming.valid() ? coming.get() : open(paths[next - opening.size() - 1]);
      open_ahead();
    }
    names.push_back(paths[names.size()]);
    return true;
  }
};

RecordsOfFiles::RecordsOfFiles(const FileWork& work, const std::vector<std::string>& paths,
                               const RecordReadOptions& reading, size_t threads) {
  // Opening objects is waiting for the network.
  const auto [at_once, kind] = files_at_once(work.files, paths, threads);
  const bool is_distant = kind == parallel::CrewKind::waits;
  const size_t others = paths.size() - 1;
  state_.reset(
      new State{.work = work,
                .paths = paths,
                .reading = reading,
                .max_ahead = std::min({at_once, is_distant ? at_once : kMaxAhead, others}),
                .jobs = parallel::Jobs(
                    std::min({at_once, is_distant ? at_once : kMaxOpening, paths.size()}), kind)});
}

RecordsOfFiles::~RecordsOfFiles() = default;

std::optional<Record> RecordsOfFiles::read() {
  while (state_->current || state_->open_next()) {
    if (auto record = state_->current->read()) {
      record->path = state_->names.back();
      return record;
    }
    state_->current.reset();
  }
  return std::nullopt;
}

}  // namespace recordpipe
