#include "tools/tfrecord/records/scan_file.h"

#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/base/available_cpus.h"
#include "dataset/io/read_ahead.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/record_format.h"
#include "recordpipe/stop.h"
#include "recordpipe/stream_compression.h"
#include "recordpipe/toolkit/parallel_record_scanner.h"
#include "recordpipe/toolkit/record_scanner.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

// Forwards to the sinks, and adds up the totals.
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
      // The sink may have loaded the whole range into memory.
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
  // Decompression and CRC checks run on separate threads.
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
  if (can_be_mapped(work_of(context), path, reading)) {
    scan_mapped(context, path, thread_count(threads), counted, progress);
  } else {
    scan_stream(context, path, reading, counted, progress);
  }
  context.progress.clear();
  return counted.totals();
}

namespace {

std::string json_string(std::string_view text) { return json_text(text); }

}  // namespace

std::string describe(const DamagedRegion& region) {
  std::string text = fmt::format("[{}, {}), {}: {}", region.begin, region.end,
                                 byte_count(region.size()), region.reason);
  const std::string hint = hint_of(region);
  if (!hint.empty()) text += fmt::format(" ({})", hint);
  return text;
}

std::string describe_damage(uint64_t regions, uint64_t bytes) {
  return fmt::format("{} of {}", counted(regions, "damaged region"), byte_count(bytes));
}

void DamageReport::begin(const std::string& path) {
  path_ = without_secrets(path);
  records_ = since_damage_ = regions_ = 0;
  if (json_) write_(fmt::format(R"({{"path": {}, "regions": [)", json_string(path_)));
}

void DamageReport::damaged(const DamagedRegion& region) {
  if (json_) {
    write_(fmt::format(R"({}{{"begin": {}, "end": {}, "reason": {}, "records_before": {}}})",
                       regions_ == 0 ? "" : ", ", region.begin, region.end,
                       json_string(region.reason), records_ + since_damage_));
  } else {
    if (regions_ == 0) write_(fmt::format("{}: damaged\n", printable(path_)));
    write_(fmt::format("  {}\n", counted(since_damage_, "intact record")));
    write_("  " + describe(region) + "\n");
  }
  records_ += since_damage_;
  since_damage_ = 0;
  regions_ += 1;
}

void DamageReport::end_object(uint64_t records, bool intact) {
  write_(fmt::format(R"(], "records": {}, "intact": {})", records, intact));
}

void DamageReport::end(const ScanTotals& totals) {
  if (json_) {
    end_object(totals.records, totals.intact());
    write_(fmt::format(R"(, "bytes": {}, "bytes_lost": {}, "compression": "{}"}})", totals.bytes,
                       totals.lost, to_string(totals.compression)) +
           "\n");
  } else if (totals.intact()) {
    write_(fmt::format("{}: intact, {}, {}", printable(path_), counted(totals.records, "record"),
                       byte_count(totals.bytes)));
    write_(totals.compression == Compression::none
               ? "\n"
               : fmt::format(", {}\n", to_string(totals.compression)));
  } else {
    write_(fmt::format("  {}\n", counted(since_damage_, "intact record")));
    const bool inflated = totals.compression != Compression::none;
    write_(fmt::format("  in all: {}, {}{}\n", counted(totals.records, "intact record"),
                       describe_damage(totals.regions, totals.lost),
                       inflated ? " of what could be inflated" : ""));
  }
}

void DamageReport::failed(std::string_view message) {
  if (!json_) return;
  end_object(records_ + since_damage_, false);
  write_(fmt::format(", \"error\": {}}}\n", json_string(message)));
}

}  // namespace recordpipe
