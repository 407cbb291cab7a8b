// Damage that is met while records are read ahead of what is done with them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/record/damaged_region.h"

namespace recordpipe {

// Is called for each region of a file that is left out.
using DamageSink = std::function<void(const std::string& path, const DamagedRegion& region)>;

// Holds damage until all records before it are taken. If no more are wanted then, because of a
// limit, nobody hears of it, however far was read ahead. Used on the thread that reads.
class HeldDamage {
 public:
  using Regions = std::vector<std::pair<std::string, DamagedRegion>>;  // with their paths

  // `sink` may be empty.
  explicit HeldDamage(DamageSink sink) : sink_(std::move(sink)) {}
  HeldDamage(const HeldDamage&) = delete;
  HeldDamage& operator=(const HeldDamage&) = delete;

  // For InputReading::damaged.
  DamageSink holding() {
    return [this](const std::string& path, const DamagedRegion& region) {
      held_.emplace_back(path, region);
    };
  }
  // Returns what was met since the last call.
  Regions take() { return std::exchange(held_, {}); }
  void tell(const Regions& regions) const {
    for (const auto& [path, region] : regions) {
      if (sink_) sink_(path, region);
    }
  }

 private:
  const DamageSink sink_;
  Regions held_;
};

}  // namespace recordpipe
