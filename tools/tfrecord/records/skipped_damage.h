// --skip-corrupt of convert and export: reports what is skipped, and counts it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/damaged_region.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

class SkippedDamage {
 public:
  // `command`: "convert".
  SkippedDamage(const CommandContext& context, std::string command)
      : context_(context), command_(std::move(command)) {}

  void skip(const std::string& path, const DamagedRegion& region);
  // A record whose image can't be used.
  void skip_record(const Error& error);
  // Says how much was skipped in all, if anything was.
  void sum_up() const;
  // Adds "regions_skipped", "bytes_skipped" and, if there are any, "compressed_bytes_skipped".
  void add_to(nlohmann::ordered_json& summary) const;

  uint64_t regions() const { return regions_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t compressed_bytes() const { return compressed_bytes_; }  // that can't be decompressed
  uint64_t records() const { return records_; }

 private:
  const CommandContext& context_;
  const std::string command_;
  uint64_t regions_ = 0;
  uint64_t bytes_ = 0;
  uint64_t compressed_bytes_ = 0;
  uint64_t records_ = 0;
};

}  // namespace recordpipe
