#include "tools/tfrecord/records/damage_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
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

std::string describe(const DamageSkipped& lost) {
  std::string text =
      fmt::format("{} of {}", counted(lost.regions, "damaged region"), byte_count(lost.bytes));
  if (lost.compressed_bytes > 0) {
    text += fmt::format(", and {}", counted(lost.compressed_bytes, "compressed byte"));
  }
  return text;
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
    write_(fmt::format(R"(, "bytes": {}, "bytes_lost": {})", totals.bytes, totals.lost.bytes));
    if (totals.lost.compressed_bytes > 0) {
      write_(fmt::format(R"(, "compressed_bytes_lost": {})", totals.lost.compressed_bytes));
    }
    write_(fmt::format(R"(, "compression": "{}"}})", to_string(totals.compression)) + "\n");
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
                       describe({.regions = totals.lost.regions, .bytes = totals.lost.bytes}),
                       inflated ? " of what could be inflated" : ""));
    if (totals.lost.compressed_bytes > 0) {
      write_(fmt::format("  {} could not be inflated: what was in them is lost\n",
                         counted(totals.lost.compressed_bytes, "compressed byte")));
    }
  }
}

void DamageReport::failed(std::string_view message) {
  if (!json_) return;
  end_object(records_ + since_damage_, false);
  write_(fmt::format(", \"error\": {}}}\n", json_string(message)));
}

}  // namespace recordpipe
