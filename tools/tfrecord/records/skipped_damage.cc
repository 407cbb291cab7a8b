#include "tools/tfrecord/records/skipped_damage.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

void add_skip_corrupt(ArgumentParser& app, bool& skip_corrupt, const std::string& what_else) {
  app.add_flag("--skip-corrupt", skip_corrupt,
               fmt::format("Skip damaged regions and keep all intact records after them{}; report "
                           "each on standard error",
                           what_else));
}

void check_skip_corrupt(bool skip_corrupt, const RecordReadOptions& reading) {
  if (skip_corrupt && reading.crc == CrcCheck::never) {
    throw UsageError("--skip-corrupt and --no-crc contradict each other");
  }
}

void SkippedDamage::skip(const std::string& path, const DamagedRegion& region) {
  context_.progress.warn(
      fmt::format("tfrecord {}: {}: skipped {}", command_, shown_path(path), describe(region)));
  if (files_ == 0 || path != last_path_) ++files_;
  last_path_ = path;
  regions_ += 1;
  bytes_ += region.size();
  compressed_bytes_ += region.compressed_lost;
}

void SkippedDamage::skip_record(const Error& error) {
  context_.progress.warn(fmt::format("tfrecord {}: skipped a record: {}", command_, error.what()));
  records_ += 1;
}

void SkippedDamage::sum_up() const {
  if (regions_ > 0) {
    context_.progress.warn(fmt::format("tfrecord {}: skipped {}{}", command_,
                                       describe_damage(regions_, bytes_, compressed_bytes_),
                                       files_ > 1 ? " in " + counted(files_, "file") : ""));
  }
  if (records_ > 0) {
    context_.progress.warn(fmt::format("tfrecord {}: skipped {} with a broken image", command_,
                                       counted(records_, "record")));
  }
}

void SkippedDamage::add_to(nlohmann::ordered_json& summary) const {
  summary["regions_skipped"] = regions_;
  summary["bytes_skipped"] = bytes_;
  if (compressed_bytes_ > 0) summary["compressed_bytes_skipped"] = compressed_bytes_;
}

}  // namespace recordpipe
