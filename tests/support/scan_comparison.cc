#include "tests/support/scan_comparison.h"

#include <memory>
#include <optional>
#include <variant>

#include "recordpipe/record/parallel_record_scanner.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_scanner.h"
#include "tests/support/bytes.h"
#include "tests/support/single_file_system.h"
#include "tests/support/unstable_file.h"

namespace recordpipe {
namespace {

// Returns the size of the record at `at`, if it is intact.
std::optional<uint64_t> intact_size(std::span<const std::byte> content, uint64_t at) {
  const auto rest = content.subspan(at);
  if (rest.size() < kRecordOverhead) return std::nullopt;
  const auto length = decode_record_header(rest.first<kRecordHeaderSize>());
  if (!length || *length > rest.size() - kRecordOverhead) return std::nullopt;
  const auto data = rest.subspan(kRecordHeaderSize, *length);
  const auto footer = rest.subspan(kRecordHeaderSize + *length).first<kRecordFooterSize>();
  if (!record_footer_matches(footer, data)) return std::nullopt;
  return *length + kRecordOverhead;
}

void add_region(const DamagedRegion& region, ScanWithReasons& result) {
  result.scan.regions.emplace_back(region.begin, region.end);
  result.damage.push_back(region);
}

ScanWithReasons collect(RecordScanner scanner) {
  ScanWithReasons result;
  while (const auto step = scanner.next()) {
    if (const auto* record = std::get_if<Record>(&*step)) {
      const uint64_t size = record->data.size() + kRecordOverhead;
      result.scan.records.emplace_back(record->offset, record->offset + size);
    } else {
      add_region(std::get<DamagedRegion>(*step), result);
    }
  }
  return result;
}

std::string describe(const ScanWithReasons& result) {
  std::string text;
  for (const auto& [begin, end] : result.scan.records) {
    text += " record " + std::to_string(begin) + "-" + std::to_string(end);
  }
  for (const DamagedRegion& region : result.damage) {
    text += " damage " + std::to_string(region.begin) + "-" + std::to_string(region.end) + ": " +
            region.reason + " (" + region.hint + ")";
  }
  return text;
}

}  // namespace

Scan scan_naively(const std::string& content) {
  const auto bytes = as_bytes(content);
  Scan scan;
  uint64_t at = 0;
  while (at < bytes.size()) {
    if (const auto size = intact_size(bytes, at)) {
      scan.records.emplace_back(at, at + *size);
      at += *size;
      continue;
    }
    const uint64_t begin = at;
    while (at < bytes.size() && !intact_size(bytes, at)) ++at;
    scan.regions.emplace_back(begin, at);
  }
  return scan;
}

ScanWithReasons scan_serially(const RandomAccessFile& file) { return collect(RecordScanner(file)); }

ScanWithReasons scan_mapped(const std::string& content) {
  return scan_serially(*SingleFileSystem(content).map("memory"));
}

ScanWithReasons scan_stream(const std::string& content) {
  return collect(
      RecordScanner(std::make_unique<MemorySource>(content), {.compression = Compression::none}));
}

ScanWithReasons scan_in_parallel(const RandomAccessFile& file, const std::string& content,
                                 size_t threads, uint64_t chunk_size) {
  ParallelRecordScanner scanner(file, {.threads = threads, .chunk_size = chunk_size});
  ScanWithReasons result;
  while (const auto stretch = scanner.next()) {
    if (const auto* region = std::get_if<DamagedRegion>(&*stretch)) {
      add_region(*region, result);
      continue;
    }
    const auto& intact = std::get<IntactRecords>(*stretch);
    uint64_t at = intact.begin;
    for (uint64_t i = 0; i < intact.records; ++i) {
      const uint64_t end = at + intact_size(as_bytes(content), at).value_or(0);
      result.scan.records.emplace_back(at, end);
      at = end;
    }
    // Wrong counts and ends appear as records that don't exist.
    if (at != intact.end) result.scan.records.emplace_back(at, intact.end);
  }
  return result;
}

ScanWithReasons scan_in_parallel(const std::string& content, size_t threads, uint64_t chunk_size) {
  SingleFileSystem files(content);
  return scan_in_parallel(*files.map("memory"), content, threads, chunk_size);
}

std::string compare_scans(const std::string& content) {
  SingleFileSystem files(content);
  const auto mapped = files.map("memory");
  const UnstableFile unstable(content, "memory");
  const ScanWithReasons serial = scan_serially(*mapped);
  if (serial.scan != scan_naively(content)) return "serial, not naive:" + describe(serial);
  std::string difference;
  const auto compare = [&](const std::string& name, const ScanWithReasons& other) {
    if (other == serial) return;
    difference += "serial:" + describe(serial) + "\n" + name + ":" + describe(other) + "\n";
  };
  compare("stream", scan_stream(content));
  compare("one thread, one chunk", scan_in_parallel(*mapped, content, 1, content.size() + 1));
  compare("serial, not stable", scan_serially(unstable));
  for (const auto& [threads, chunk_size] :
       {std::pair<size_t, uint64_t>{1, 40}, {2, 100}, {3, 1000}}) {
    const std::string chunks = "parallel, chunks of " + std::to_string(chunk_size);
    compare(chunks, scan_in_parallel(*mapped, content, threads, chunk_size));
    compare(chunks + ", not stable", scan_in_parallel(unstable, content, threads, chunk_size));
  }
  return difference;
}

}  // namespace recordpipe
