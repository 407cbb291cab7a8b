#include "recordpipe/record/record_scanner.h"

#include <utility>

#include "dataset/record/record_framing.h"
#include "dataset/record/scan/record_walk.h"
#include "dataset/record/scan/scan_input.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

DetectedSource detect(std::unique_ptr<ByteSource> source, const RecordReadOptions& reading) {
  if (reading.crc == CrcCheck::never) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = source->path(),
                 .reason = "a scan for intact records without their CRCs"});
  }
  return detect_source(std::move(source), reading, {.read_on_after_damage = true});
}

}  // namespace

struct RecordScanner::State {
  std::unique_ptr<MappedFile> owned;
  std::unique_ptr<ScanInput> input;
  Compression compression = Compression::none;
  RecordWalk walk;

  State(DetectedSource detected, uint64_t max_record_size, std::stop_token stop, OnDamage on_damage)
      : input(std::make_unique<StreamScanInput>(std::move(detected.source), detected.reads_on)),
        compression(detected.compression),
        walk(*input, 0,
             {.max_record_size = max_record_size,
              .max_region = max_record_size,
              .on_damage = on_damage,
              .compression = compression},
             std::move(stop)) {}

  State(const RandomAccessFile& file, std::stop_token stop, OnDamage on_damage)
      : input(std::make_unique<FileScanInput>(file)),
        walk(*input, 0, {.on_damage = on_damage}, std::move(stop)) {}

  State(std::unique_ptr<MappedFile> file, std::stop_token stop, OnDamage on_damage)
      : State(*file, std::move(stop), on_damage) {
    owned = std::move(file);
  }
};

RecordScanner::RecordScanner(std::unique_ptr<ByteSource> source, const RecordReadOptions& reading,
                             std::stop_token stop, OnDamage on_damage)
    : state_(std::make_unique<State>(detect(std::move(source), reading), reading.max_record_size,
                                     std::move(stop), on_damage)) {}

RecordScanner::RecordScanner(DetectedSource detected, uint64_t max_record_size,
                             std::stop_token stop)
    : state_(std::make_unique<State>(std::move(detected), max_record_size, std::move(stop),
                                     OnDamage::resync)) {}

RecordScanner::RecordScanner(const RandomAccessFile& file, std::stop_token stop, OnDamage on_damage)
    : state_(std::make_unique<State>(file, std::move(stop), on_damage)) {}

RecordScanner::RecordScanner(std::unique_ptr<MappedFile> file, std::stop_token stop,
                             OnDamage on_damage)
    : state_(std::make_unique<State>(std::move(file), std::move(stop), on_damage)) {}

RecordScanner::~RecordScanner() = default;
RecordScanner::RecordScanner(RecordScanner&&) noexcept = default;
RecordScanner& RecordScanner::operator=(RecordScanner&&) noexcept = default;

std::optional<RecordScanner::Step> RecordScanner::next() {
  auto step = state_->walk.next();
  if (!step) {
    if (state_->owned && state_->owned->damaged()) throw cut_while_mapped(path(), offset());
    return std::nullopt;
  }
  if (const auto* found = std::get_if<IntactRecords>(&*step)) return state_->walk.record(*found);
  return std::get<DamagedRegion>(*std::move(step));
}
uint64_t RecordScanner::offset() const { return state_->walk.position(); }
Compression RecordScanner::compression() const { return state_->compression; }
const std::string& RecordScanner::path() const { return state_->input->path(); }

}  // namespace recordpipe
