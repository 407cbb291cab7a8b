#include "dataset/toolkit/files/file_facts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "dataset/toolkit/files/loaded_file.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_index.h"

namespace recordpipe {
namespace {

class FactFinder {
 public:
  FactFinder(const FileWork& work, const std::string& path, const RecordReadOptions& reading,
             const InputStatus& status, std::optional<MessageKind> kind)
      : work_(work), reading_(reading), status_(status), message_(kind) {
    facts_.path = path;
  }

  FileFacts find() {
    try {
      if (const auto file = open()) {
        facts_.bytes = file->size();
        facts_.compression = detect_compression(*file, reading_);
        facts_.was_read = true;
        if (facts_.compression == Compression::none) {
          read_plain(*file);
          return std::move(facts_);
        }
      }
      read_stream();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      facts_.ended_early = true;
      facts_.error = error;
    }
    return std::move(facts_);
  }

 private:
  // Returns null if the file can only be read as a stream.
  std::unique_ptr<RandomAccessFile> open() const {
    auto file = open_random_input(work_, facts_.path, status_);
    return status_.is_local_regular ? loaded_if_small(std::move(file)) : std::move(file);
  }

  void count(uint64_t size) {
    ++facts_.records;
    facts_.content_bytes += kRecordOverhead + size;
    facts_.sizes.add(static_cast<double>(size));
    throw_if_stopped(work_.stop, facts_.path);
  }

  bool wants_sample() const {
    return !facts_.error && facts_.sample.records < kSampledRecords &&
           (facts_.sample.records == 0 || sampled_bytes_ < kSampledBytes);
  }
  void sample(std::span<const std::byte> data) {
    message_.read(data);
    facts_.sample.add(message_, data.size());
    sampled_bytes_ += data.size();
  }

  void read_plain(const RandomAccessFile& file) {
    facts_.indexed = count_by_index(work_.files, facts_.path, file).has_value();
    if (facts_.indexed) {
      RecordIndexReader index(work_.files, record_index_path(facts_.path));
      read_plain(file, index);
    } else {
      RecordHeaderReader headers(file, reading_);
      read_plain(file, headers);
    }
  }
  template <typename Entries>
  void read_plain(const RandomAccessFile& file, Entries& entries) {
    // An unreadable record is an error of the sample, but counts as a record.
    while (const std::optional<RecordIndexEntry> entry = entries.read()) {
      count(entry->length());
      work_.add(entry->size);
      if (!wants_sample()) continue;
      try {
        sample(view_indexed_record(file, *entry, reading_, scratch_));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::cancelled) throw;
        facts_.error = error;
      }
    }
  }

  void read_stream() {
    uint64_t bytes = 0;
    try {
      RecordReader reader(tapped(open_counted(work_, facts_.path, status_),
                                 [&](auto read) { bytes += read.size(); }),
                          reading_);
      facts_.compression = reader.compression();
      facts_.was_read = true;
      while (const std::optional<Record> record = reader.read()) {
        count(record->data.size());
        if (wants_sample()) sample(record->data);
      }
    } catch (const Error&) {
      facts_.bytes = std::max(facts_.bytes, bytes);
      throw;
    }
    facts_.bytes = std::max(facts_.bytes, bytes);
  }

  const FileWork& work_;
  const RecordReadOptions reading_;
  const InputStatus status_;
  FileFacts facts_;
  MessageView message_;
  std::vector<std::byte> scratch_;
  uint64_t sampled_bytes_ = 0;
};

}  // namespace

void FileFacts::merge(const FileFacts& other) {
  was_read = was_read || other.was_read;
  records += other.records;
  bytes += other.bytes;
  content_bytes += other.content_bytes;
  sizes.merge(other.sizes);
  sample.merge(other.sample);
}

FileFacts find_file_facts(const FileWork& work, const std::string& path,
                          const RecordReadOptions& reading,
                          const std::optional<InputStatus>& status,
                          std::optional<MessageKind> kind) {
  return FactFinder(work, path, reading, status ? *status : input_status(work, path), kind).find();
}

}  // namespace recordpipe
