#include "python/native/dataset/record_files.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "dataset/parallel/open_ahead.h"
#include "dataset/record/record_file_opening.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/io/file.h"

namespace recordpipe::python {
namespace {

MappedRecordFile opened(FileSystem& files, const std::string& path,
                        const RecordReadOptions& options, const std::stop_token& stop) {
  RecordMapOptions mapping = {.use_index = true, .stop = stop};
  if (!files.can_map(path)) mapping.file = files.open_random(path);
  return {files, path, options, mapping};
}

}  // namespace

RecordFiles::RecordFiles(SharedFiles file_system, const std::vector<std::string>& paths,
                         const RecordReadOptions& options,
                         const std::vector<tfds::FileRange>& ranges)
    : file_system_(std::move(file_system)) {
  interruptible([&](const std::stop_token& stop) {
    const internal::CallStopScope scope(stop);
    files_.clear();
    skipped_.clear();
    first_records_.resize(1);
    FileSystem& files = *file_system_;
    OpeningCrews crews;
    parallel::OpenAhead<RecordFileOpening> ahead;
    size_t begun = 0;
    for (size_t number = 0; number < paths.size(); ++number) {
      for (; begun < std::min(paths.size(), number + kOpenedAtOnce); ++begun) {
        if (!files.reads_ahead(paths[begun])) continue;
        ahead.add(begun,
                  std::make_unique<RecordFileOpening>(files, paths[begun], options, stop, crews));
      }
      const auto opening = ahead.take(number);
      const bool is_open = opening && opening->finish();
      if (is_open) opening->file()->hint(0, opening->file()->size(), ReadHint::done);
      MappedRecordFile file =
          is_open ? opening->take() : opened(files, paths[number], options, stop);
      const tfds::FileRange all{std::string(file.path()), 0, file.size(), file.size()};
      add(std::move(file), ranges.empty() ? all : ranges[number]);
    }
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
  std::vector<Record> records;
  records.reserve(indexes.size());
  size_t prefetched = 0;
  for (size_t i = 0; i < indexes.size(); ++i) {
    const Place at = place(indexes[i]);
    const size_t distance = at.file->prefetch_distance();
    if (prefetched <= i + distance) {
      // Of a mapped file in runs: the offsets are cache misses, too, which only overlap if little
      // is computed between them.
      const size_t run = at.file->bytes().empty() ? 1 : distance;
      for (; prefetched < std::min(indexes.size(), i + distance + run); ++prefetched) {
        const Place ahead = place(indexes[prefetched]);
        ahead.file->prefetch(ahead.record);
      }
    }
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
