#include "python/native/dataset/record_files.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "dataset/toolkit/files/many_files.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/io/file.h"

namespace recordpipe::python {
namespace {

// Opening a file over the network waits for several answers in turn.
constexpr size_t kDistantAtOnce = 128;

bool is_distant(FileSystem& files, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths,
                             [&](const std::string& path) { return files.reads_ahead(path); });
}

}  // namespace

RecordFiles::RecordFiles(SharedFiles files, const std::vector<std::string>& paths,
                         const RecordReadOptions& options,
                         const std::vector<tfds::FileRange>& ranges)
    : file_system_(std::move(files)) {
  interruptible([&](const std::stop_token& stop) {
    const internal::CallStopScope scope(stop);
    files_.clear();
    skipped_.clear();
    first_records_.resize(1);
    for_each_file<std::shared_ptr<MappedRecordFile>>(
        paths.size(), 1, [](size_t) { return FileTurn(); },
        [&](FileShare share) {
          const std::string& path = paths[share.number];
          RecordMapOptions mapping = {.use_index = true, .stop = stop};
          if (!(*file_system_).can_map(path)) mapping.file = (*file_system_).open_random(path);
          return std::make_shared<MappedRecordFile>(*file_system_, path, options, mapping);
        },
        [&](const std::shared_ptr<MappedRecordFile>& file) {
          const tfds::FileRange all{std::string(file->path()), 0, file->size(), file->size()};
          add(std::move(*file), ranges.empty() ? all : ranges[files_.size()]);
          return true;
        },
        parallel::InOrderOptions{.threads = is_distant(*file_system_, paths) ? kDistantAtOnce : 1,
                                 .kind = parallel::CrewKind::waits});
  });
}

void RecordFiles::add(MappedRecordFile file, const tfds::FileRange& range) {
  if (file.size() != range.records) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = range.path,
                 .reason = std::to_string(file.size()) + " records, where " +
                           std::to_string(range.records) + " are expected",
                 .hint = "the file is not complete, or is one of another version"});
  }
  files_.push_back(std::move(file));
  skipped_.push_back(range.begin);
  first_records_.push_back(first_records_.back() + range.end - range.begin);
}

RecordFiles::Place RecordFiles::place(uint64_t index) const {
  const auto next = std::ranges::upper_bound(first_records_, index);
  const auto file = static_cast<size_t>(next - first_records_.begin()) - 1;
  return {&files_[file], skipped_[file] + index - first_records_[file]};
}

void RecordFiles::require_kept() const {
  const auto sources = [this] {
    std::vector<internal::SourceFile> all;
    for (const MappedRecordFile& file : files_) {
      all.push_back({file_system_.shared.get(), std::string(file.path())});
    }
    return all;
  };
  require_not_replaced(sources, checked_write_);
}

nb::list RecordFiles::files() const {
  nb::list result;
  for (const MappedRecordFile& file : files_) {
    // A path may contain any bytes: as in os.fsdecode().
    const nb::object path = nb::steal(PyUnicode_DecodeFSDefaultAndSize(
        file.path().data(), static_cast<Py_ssize_t>(file.path().size())));
    result.append(nb::make_tuple(path, file.size()));
  }
  return result;
}

nb::bytes RecordFiles::get(uint64_t index) const {
  require_kept();
  Record record;
  {
    const GilRelease no_gil;
    const Place at = place(index);
    record = at.file->read(at.record);
  }
  return bytes_of(record.data);
}

std::vector<Record> RecordFiles::read_many(const std::vector<uint64_t>& indexes) const {
  // Far enough ahead for a page of memory to arrive while other records are checked.
  constexpr size_t kAhead = 8;
  std::vector<Record> records;
  records.reserve(indexes.size());
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (i + kAhead < indexes.size()) {
      const Place ahead = place(indexes[i + kAhead]);
      ahead.file->prefetch(ahead.record);
    }
    const Place at = place(indexes[i]);
    records.push_back(at.file->read(at.record));
    records.back().path = at.file->path();
  }
  return records;
}

nb::list RecordFiles::get_many(const std::vector<uint64_t>& indexes) const {
  require_kept();
  std::vector<Record> records;
  {
    const GilRelease no_gil;
    records = read_many(indexes);
  }
  nb::list result;
  for (const Record& record : records) {
    result.append(bytes_of(record.data));
  }
  return result;
}

nb::object RecordFiles::parse_many(const std::vector<uint64_t>& indexes, const ParseSpec& spec,
                                   bool single) const {
  require_kept();
  return parsed_rows(pool_, spec, indexes.size(), single, [&](ParsedBatch& batch) {
    const std::vector<Record> records = read_many(indexes);
    for (size_t row = 0; row < records.size(); ++row) spec.collator.set(batch, row, records[row]);
  });
}

}  // namespace recordpipe::python
