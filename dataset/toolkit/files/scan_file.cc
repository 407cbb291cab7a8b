#include "dataset/toolkit/files/scan_file.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/io/read_ahead.h"
#include "dataset/record/record_framing.h"
#include "dataset/toolkit/files/loaded_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/parallel_record_scanner.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_scanner.h"
#include "recordpipe/record/stream_compression.h"

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
    totals_.lost.add(region);
    sinks_.damaged(region);
  }
  void cut() { totals_.cut = true; }
  const ScanTotals& totals() const { return totals_; }

 private:
  const ScanSinks& sinks_;
  ScanTotals totals_;
};

// Starting a thread that decompresses takes longer than decompressing files up to this size.
constexpr uint64_t kInflatedInPlace = uint64_t{64} << 10;

// `bytes`: the whole content of `file`, which is not compressed.
void scan_plain(const FileWork& work, const RandomAccessFile& file,
                std::span<const std::byte> bytes, size_t threads, CountedSinks& sinks) {
  sinks.opened(Compression::none);
  uint64_t reached = 0;
  ParallelRecordScanner scanner(file, {.threads = threads, .stop = work.stop});
  while (const auto stretch = scanner.next()) {
    if (const auto* intact = std::get_if<IntactRecords>(&*stretch)) {
      const uint64_t size = intact->end - intact->begin;
      sinks.intact(bytes.subspan(intact->begin, size), intact->records);
      // The sink may have loaded the whole range into memory.
      file.hint(intact->begin, size, ReadHint::done);
    } else {
      sinks.damaged(std::get<DamagedRegion>(*stretch));
    }
    work.add(scanner.offset() - std::exchange(reached, scanner.offset()));
  }
  if (file.damaged()) sinks.cut();
}

// Returns whether the file, a local regular one, is not compressed and was scanned.
bool scan_local(const FileWork& work, const std::string& path, const RecordReadOptions& reading,
                size_t threads, uint64_t size, CountedSinks& sinks) {
  if (reading.compression.value_or(Compression::none) != Compression::none) return false;
  if (size <= kMaxLoaded) {
    const auto opened = work.files.open_random(path);
    if (opened->size() <= kMaxLoaded) {
      const LoadedFile file(*opened);
      if (detect_compression(file, reading) != Compression::none) return false;
      scan_plain(work, file, file.bytes(), 1, sinks);
      return true;
    }
  }
  const auto file = map_plain_file(work.files, path, reading);
  if (!file) return false;
  scan_plain(work, *file, file->bytes(), threads, sinks);
  return true;
}

void scan_stream(const FileWork& work, const std::string& path, const RecordReadOptions& reading,
                 const InputStatus& status, size_t threads, CountedSinks& sinks) {
  DetectedSource detected =
      detect_source(open_counted(work, path, status), reading, {.read_on_after_damage = true});
  sinks.opened(detected.compression);
  if (!status.is_local_regular || status.size > kInflatedInPlace) {
    // Decompression and CRC checks run on separate threads. With one thread for the file, it is one
    // of several that are scanned at a time: each takes little memory.
    ReadAheadOptions ahead{.read_on_after_damage = detected.reads_on};
    if (threads == 1) ahead.blocks = 4;
    detected.source = std::make_unique<ReadAhead>(std::move(detected.source), ahead);
  }
  RecordScanner scanner(std::move(detected), reading.max_record_size, work.stop);
  while (const auto step = scanner.next()) {
    if (const auto* record = std::get_if<Record>(&*step)) {
      sinks.intact(framed(*record), 1);
    } else {
      sinks.damaged(std::get<DamagedRegion>(*step));
    }
  }
}

// Copies records out of the mapping before writing them: if the file is truncated meanwhile,
// write() from the mapping would fail.
void write_copied(std::span<const std::byte> framed, uint64_t count, RecordWriter& writer) {
  constexpr size_t kPiece = size_t{256} << 10;
  std::vector<std::byte> copy;
  while (!framed.empty()) {
    const auto piece = framed.first(std::min(framed.size(), kPiece));
    copy.assign(piece.begin(), piece.end());
    framed = framed.subspan(piece.size());
    writer.write_framed(copy, framed.empty() ? count : 0);
  }
}

// Writes the entries of `count` consecutive records.
void write_entries(std::span<const std::byte> framed, uint64_t count, RecordIndexWriter& index) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = decode_record_length(framed.first<kRecordHeaderSize>()) + kRecordOverhead;
    index.write(size);
    framed = framed.subspan(size);
  }
}

}  // namespace

ScanTotals scan_file(const FileWork& work, const std::string& path,
                     const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                     const std::optional<InputStatus>& status) {
  CountedSinks counted(sinks);
  const InputStatus known = status ? *status : input_status(work, path);
  if (!known.is_local_regular ||
      !scan_local(work, path, reading, thread_count(threads), known.size, counted)) {
    scan_stream(work, path, reading, known, thread_count(threads), counted);
  }
  return counted.totals();
}

ScanTotals salvage_file(const FileWork& work, const std::string& path,
                        const RecordReadOptions& reading, size_t threads, const ScanSinks& sinks,
                        RecordWriter& writer, const std::optional<InputStatus>& status) {
  ScanSinks writing = sinks;
  writing.intact = [&](std::span<const std::byte> framed, uint64_t count) {
    write_copied(framed, count, writer);
    if (sinks.intact) sinks.intact(framed, count);
  };
  const ScanTotals totals = scan_file(work, path, reading, threads, writing, status);
  if (totals.cut) throw cut_while_mapped(path, totals.bytes);
  return totals;
}

void require_plain(const std::string& path, Compression compression,
                   const std::string& decompress_hint) {
  if (compression == Compression::none) return;
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = "compressed with " + std::string(to_string(compression)) +
                         ": only plain files can be indexed",
               .hint = decompress_hint});
}

uint64_t write_index(const FileWork& work, const std::string& path, size_t threads,
                     const std::string& decompress_hint, ByteSink& sink,
                     const std::optional<InputStatus>& status) {
  RecordIndexWriter index(sink);
  const auto opened = [&](Compression compression) {
    require_plain(path, compression, decompress_hint);
  };
  const auto damaged = [&](const DamagedRegion& region) {
    throw Error({.kind = ErrorKind::corrupted,
                 .path = path,
                 .offset = region.begin,
                 .reason = region.reason,
                 .hint = region.hint,
                 .remedy = region.remedy});
  };
  scan_file(work, path, {}, threads,
            {.opened = opened,
             .intact = [&](auto framed, uint64_t count) { write_entries(framed, count, index); },
             .damaged = damaged},
            status);
  index.close();
  return index.records();
}

}  // namespace recordpipe
