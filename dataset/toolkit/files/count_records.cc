#include "dataset/toolkit/files/count_records.h"

#include "dataset/record/record_header_reader.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

// The interval of checks for a stop request, in records.
constexpr uint64_t kCountStopInterval = 4096;

// Whether there is a next record. Its data may be damaged, as in files whose headers alone are
// read.
bool pass_record(RecordReader& reader) {
  try {
    return reader.read().has_value();
  } catch (const Error&) {
    if (!reader.reads_on()) throw;
    return true;
  }
}

}  // namespace

std::optional<uint64_t> count_without_reading(const FileWork& work, const std::string& path,
                                              const RecordReadOptions& reading, UrlHeaders urls) {
  const auto file = open_random_input(work, path);
  if (!file || detect_compression(*file, reading) != Compression::none) return std::nullopt;
  if (const auto records = count_by_index(work.files, path, *file)) {
    work.add(file->size());
    return records;
  }
  if (is_url(path) && urls == UrlHeaders::leave) return std::nullopt;
  RecordHeaderReader headers(*file, reading);
  uint64_t records = 0;
  while (const auto entry = headers.read()) {
    if (++records % kCountStopInterval == 0) throw_if_stopped(work.stop, path);
    work.add(entry->size);
  }
  return records;
}

uint64_t count_records(const FileWork& work, const std::string& path,
                       const RecordReadOptions& reading, UrlHeaders urls) {
  if (const auto records = count_without_reading(work, path, reading, urls)) return *records;
  RecordReader reader(open_counted(work, path), reading);
  uint64_t records = 0;
  while (pass_record(reader)) {
    if (++records % kCountStopInterval == 0) throw_if_stopped(work.stop, path);
  }
  return records;
}

}  // namespace recordpipe
