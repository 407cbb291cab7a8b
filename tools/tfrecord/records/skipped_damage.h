// --skip-corrupt: reports what is skipped, and counts it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record_reader.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds --skip-corrupt, which is OnDamage::resync; `what_else` is skipped, too: "", or the rest of a
// sentence.
void add_skip_corrupt(ArgumentParser& app, bool& skip_corrupt, const std::string& what_else = "");
// What errors of damaged records recommend.
inline constexpr char kSkipCorrupt[] = "--skip-corrupt skips what is damaged";
// How inputs are read, without paths. Throws UsageError if CRCs, by which damage is found, are not
// to be checked.
InputReading input_reading(const RecordReadOptions& reading, bool skip_corrupt);

class SkippedDamage {
 public:
  // `command`: "convert".
  SkippedDamage(const CommandContext& context, std::string command)
      : context_(context), command_(std::move(command)) {}

  // Reports and counts a region, on the thread that calls it; this object must outlive it.
  DamageSink sink();
  // The counts of all regions, of which more than 10,000 are not reported one by one.
  void set_counts(const DamageSkipped& all);
  // A record whose image can't be used.
  void skip_record(const Error& error);
  // Says how much was skipped in all, if anything was.
  void sum_up() const;
  // "skipped 2 damaged regions of 70 bytes in 2 files"; empty if there are none.
  std::string summary() const;
  // Adds "regions_skipped" and "bytes_skipped" in any case, else as add_skipped().
  void add_to(nlohmann::ordered_json& summary) const;

  const DamageSkipped& counts() const { return counts_; }
  uint64_t records() const { return records_; }

 private:
  const CommandContext& context_;
  const std::string command_;
  std::set<std::string> files_;  // with damage
  DamageSkipped counts_;
  uint64_t records_ = 0;
};

}  // namespace recordpipe
