#include "tools/tfrecord/records/scan_file.h"

#include <memory>
#include <utility>
#include <variant>

#include "dataset/base/thread_count.h"
#include "dataset/io/read_ahead.h"
#include "recordpipe/record_format.h"
#include "recordpipe/stop.h"
#include "recordpipe/stream_compression.h"
#include "recordpipe/toolkit/parallel_record_scanner.h"
#include "recordpipe/toolkit/record_scanner.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/plain_file.h"

namespace recordpipe {
namespace {

// What sinks are told, counted.
class CountedSinks {
 public:
  explicit CountedSinks(const ScanSinks& sinks) : sinks_(sinks) {}

  void opened(Compression compression) {
    totals_.compression = compression;
    if (sinks_.opened) sinks_.opened(compression);
  }
  void intact(std::span<const std::byte> framed, uint64_t count) {
    totals_.bytes += framed.size();
    totals_.records += count;
    sinks_.intact(framed, count);
  }
  void damaged(const DamagedRegion& region) {
    totals_.bytes = region.end;
    totals_.regions += 1;
    totals_.lost += region.size();
    sinks_.damaged(region);
  }
  void cut() { totals_.cut = true; }
  const ScanTotals& totals() const { return totals_; }

 private:
  const ScanSinks& sinks_;
  ScanTotals totals_;
};

void scan_mapped(const CommandContext& context, const std::string& path, size_t threads,
                 CountedSinks& sinks, InputProgress& progress) {
  const auto file = context.files.map(path);
  const auto bytes = file->bytes();
  sinks.opened(Compression::none);
  uint64_t reached = 0;
  ParallelRecordScanner scanner(*file, {.threads = threads, .stop = context.stop});
  while (const auto stretch = scanner.next()) {
    if (const auto* intact = std::get_if<IntactRecords>(&*stretch)) {
      const uint64_t size = intact->end - intact->begin;
      sinks.intact(bytes.subspan(intact->begin, size), intact->records);
      // A sink may have read it all.
      file->hint(intact->begin, size, ReadHint::done);
    } else {
      sinks.damaged(std::get<DamagedRegion>(*stretch));
    }
    progress.add(scanner.offset() - std::exchange(reached, scanner.offset()));
  }
  if (file->damaged()) sinks.cut();
}

void scan_stream(const CommandContext& context, const std::string& path,
                 const RecordReadOptions& reading, CountedSinks& sinks, InputProgress& progress) {
  DetectedSource detected = detect_source(progress.counted(open_input(context, path)), reading,
                                          {.read_on_after_damage = true});
  sinks.opened(detected.compression);
  // Inflating and the CRCs each have a thread.
  detected.source = std::make_unique<ReadAhead>(
      std::move(detected.source), ReadAheadOptions{.read_on_after_damage = detected.reads_on});
  RecordScanner scanner(std::move(detected), reading.max_record_size, context.stop);
  while (const auto step = scanner.next()) {
    if (const auto* record = std::get_if<Record>(&*step)) {
      sinks.intact(framed(*record), 1);
    } else {
      sinks.damaged(std::get<DamagedRegion>(*step));
    }
  }
}

}  // namespace

ScanTotals scan_file(const CommandContext& context, const std::string& path,
                     const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                     InputProgress& progress) {
  CountedSinks counted(sinks);
  if (can_be_mapped(context.files, path, reading)) {
    scan_mapped(context, path, thread_count(threads), counted, progress);
  } else {
    scan_stream(context, path, reading, counted, progress);
  }
  context.progress.clear();
  return counted.totals();
}

}  // namespace recordpipe
