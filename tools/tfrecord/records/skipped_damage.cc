#include "tools/tfrecord/records/skipped_damage.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/jobs/shard_record.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

void add_skip_corrupt(ArgumentParser& app, bool& skip_corrupt, const std::string& what_else) {
  app.add_flag("--skip-corrupt", skip_corrupt,
               fmt::format("Skip damaged regions and keep all intact records after them{}; report "
                           "each on standard error",
                           what_else));
}

InputReading input_reading(const RecordReadOptions& reading, bool skip_corrupt) {
  const bool is_unchecked = reading.crc == CrcCheck::never;
  if (skip_corrupt && is_unchecked) {
    throw UsageError("--skip-corrupt and --no-crc contradict each other");
  }
  return {.reading = reading,
          .on_damage = skip_corrupt ? OnDamage::resync : OnDamage::raise,
          .remedy = is_unchecked ? "" : kSkipCorrupt};
}

DamageSink SkippedDamage::sink() {
  return [this](const std::string& path, const DamagedRegion& region) {
    context_.progress.warn(
        fmt::format("tfrecord {}: {}: skipped {}", command_, shown_path(path), describe(region)));
    files_.insert(path);
    counts_.add(region);
  };
}

void SkippedDamage::set_counts(const DamageSkipped& all) {
  if (all.regions > counts_.regions) {
    context_.progress.warn(fmt::format("tfrecord {}: and {} that are not listed", command_,
                                       counted(all.regions - counts_.regions, "damaged region")));
  }
  counts_ = all;
}

void SkippedDamage::skip_record(const Error& error) {
  context_.progress.warn(fmt::format("tfrecord {}: skipped a record: {}", command_, error.what()));
  records_ += 1;
}

std::string SkippedDamage::summary() const {
  if (counts_.regions == 0) return "";
  return fmt::format("skipped {}{}", describe(counts_),
                     files_.size() > 1 ? " in " + counted(files_.size(), "file") : "");
}

void SkippedDamage::sum_up() const {
  print_note(context_, command_, summary());
  if (records_ > 0) {
    context_.progress.warn(fmt::format("tfrecord {}: skipped {} with a broken image", command_,
                                       counted(records_, "record")));
  }
}

void SkippedDamage::add_to(nlohmann::ordered_json& summary) const {
  summary["regions_skipped"] = 0;
  summary["bytes_skipped"] = 0;
  add_skipped(counts_, summary);
}

}  // namespace recordpipe
