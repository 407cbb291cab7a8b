#include "tools/tfrecord/records/file_rates.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "dataset/io/span_source.h"
#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/record/stream_compression.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kRegion = uint64_t{256} << 20;  // of the file; stays in the page cache
constexpr size_t kInMemory = size_t{8} << 20;      // bytes of the file, and of its content
constexpr size_t kBlock = size_t{1} << 20;
constexpr size_t kMeasurements = 9;

// Asks the kernel to evict the file's pages, after writing back dirty ones. A failure is harmless:
// the cache stays warm.
void drop_from_cache(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return;
  ::fdatasync(descriptor);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
}

class Measurement {
 public:
  Measurement(FileSystem& files, const std::string& path, const MeasureOptions& options)
      : files_(files),
        path_(path),
        options_(options),
        slice_(std::chrono::duration_cast<Clock::duration>(options.time / double{kMeasurements})) {}

  FileRates run() {
    if (!is_url(path_)) {
      drop_from_cache(path_);
      rates_.cold_storage = once([this] { return read_file(); });
    }
    rates_.warm_storage = fastest([this] { return read_file(); });
    rates_.reading = fastest([this] { return read_records(nullptr); });
    if (rates_.records == 0) return {.path = rates_.path, .whole = true};
    MessageView message;
    rates_.reading_and_decoding = fastest([&] { return read_records(&message); });
    measure_steps();
    return rates_;
  }

 private:
  // Returns the bytes per second of one pass, which ends with its time slice at the latest.
  double once(const std::function<uint64_t()>& pass) {
    throw_if_stopped(options_.stop, path_);
    const Clock::time_point start = Clock::now();
    deadline_ = start + slice_;
    const uint64_t bytes = pass();
    const std::chrono::duration<double> took = Clock::now() - start;
    return bytes == 0 ? 0 : static_cast<double>(bytes) / std::max(took.count(), 1e-9);
  }

  // Returns the rate of the fastest pass within the time slice: other load on the machine can only
  // slow a pass down.
  double fastest(const std::function<uint64_t()>& pass) {
    const Clock::time_point end = Clock::now() + slice_;
    double best = 0;
    do {
      best = std::max(best, once(pass));
    } while (Clock::now() < end && best > 0);
    return best;
  }

  bool is_over() const { return Clock::now() >= deadline_ || options_.stop.stop_requested(); }

  uint64_t read_file() {
    const auto source = files_.open_source(path_);
    std::vector<std::byte> block(kBlock);
    uint64_t bytes = 0;
    while (bytes < kRegion && !is_over()) {
      const size_t count = source->read(block);
      if (count == 0) break;
      bytes += count;
    }
    return bytes;
  }

  // Returns the number of content bytes. Keeps the first records in memory, and the facts of the
  // longest pass.
  uint64_t read_records(MessageView* message) {
    uint64_t file_bytes = 0;
    RecordReader reader(
        tapped(files_.open_source(path_), [&](auto read) { file_bytes += read.size(); }),
        options_.reading);
    uint64_t records = 0;
    bool whole = false;
    while (file_bytes < kRegion && !(records % 64 == 0 && records > 0 && is_over())) {
      const std::optional<Record> record = reader.read();
      whole = !record;
      if (whole) break;
      ++records;
      if (message != nullptr) message->read(record->data);
      if (records > places_.size() && content_.size() < kInMemory) keep(record->data);
    }
    if (records >= rates_.records) {
      rates_ = {.path = reader.path(),
                .file_bytes = file_bytes,
                .content_bytes = reader.offset(),
                .records = records,
                .whole = whole,
                .compression = reader.compression(),
                .cold_storage = rates_.cold_storage,
                .warm_storage = rates_.warm_storage,
                .reading = rates_.reading};
    }
    return reader.offset();
  }

  void keep(std::span<const std::byte> data) {
    places_.push_back({content_.size(), data.size()});
    content_.insert(content_.end(), data.begin(), data.end());
  }
  std::span<const std::byte> kept(size_t i) const {
    return std::span(content_).subspan(places_[i].begin, places_[i].size);
  }

  void measure_steps() {
    const uint64_t framed = content_.size() + 16 * places_.size();
    rates_.crc = fastest([&] {
      for (size_t i = 0; i < places_.size(); ++i) crc_ ^= crc32c(kept(i));
      return framed;
    });
    MessageView message;
    rates_.decoding = fastest([&] {
      for (size_t i = 0; i < places_.size(); ++i) message.read(kept(i));
      return framed;
    });
    std::vector<std::byte> copy(std::min(content_.size(), kInMemory));
    rates_.copying = fastest([&] {
      std::copy_n(content_.begin(), copy.size(), copy.begin());
      return copy.size();
    });
    copy = {};
    measure_on_bytes();
  }

  // Measures inflation and framing on the file's first bytes, which are held in memory.
  void measure_on_bytes() {
    std::vector<std::byte> head(kInMemory);
    head.resize(read_fully(*files_.open_source(path_), head));
    if (rates_.compression == Compression::none) {
      rates_.framing = fastest([&] { return frame(head); });
      return;
    }
    std::vector<std::byte> inflated(kInMemory);
    rates_.inflation = fastest([&] { return inflate_into(head, inflated); });
    rates_.framing = fastest([&] { return frame(std::span(inflated).first(inflated_)); });
  }

  uint64_t inflate_into(std::span<const std::byte> head, std::span<std::byte> out) {
    inflated_ = 0;
    const auto source = detect_source(std::make_unique<SpanSource>(head, "memory"),
                                      {.compression = rates_.compression})
                            .source;
    try {
      while (inflated_ < out.size()) {
        const size_t count = source->read(out.subspan(inflated_));
        if (count == 0) break;
        inflated_ += count;
      }
    } catch (const Error&) {
      // The file continues after the part in memory.
    }
    return inflated_;
  }

  static uint64_t frame(std::span<const std::byte> content) {
    RecordReader reader(std::make_unique<SpanSource>(content, "memory"),
                        {.compression = Compression::none, .crc = CrcCheck::never});
    try {
      while (reader.read()) {
      }
    } catch (const Error&) {
      // The last record continues after the part in memory.
    }
    return content.size();
  }

  struct Place {
    size_t begin;
    size_t size;
  };

  FileSystem& files_;
  const std::string path_;
  const MeasureOptions& options_;
  const Clock::duration slice_;
  Clock::time_point deadline_;
  FileRates rates_;
  std::vector<std::byte> content_;  // of the first records
  std::vector<Place> places_;
  size_t inflated_ = 0;
  uint32_t crc_ = 0;  // keeps the results from being optimized away
};

}  // namespace

FileRates measure_file(FileSystem& files, const std::string& path, const MeasureOptions& options) {
  return Measurement(files, path, options).run();
}

}  // namespace recordpipe
