// Profiles a pipeline: time per operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recordpipe {

// Statistics of one operator. The last entry is "consumer": the thread that iterates, with the work
// that it does on the elements. Times are in seconds, summed over threads. The time of the datasets
// that flat_map or interleave opens counts for that operator.
struct StageStatistics {
  std::string name;  // as in explain(), and of functions Parameter::Kind::called: "map(decode)"
  size_t depth = 0;  // 0 on the path to the consumer; +1 inside each of several inputs
  // Planned output elements: may be ahead of the consumer, and counts those that restoring a
  // shuffle passes over.
  uint64_t elements = 0;
  double planning = 0;           // sequential work, on one thread at a time
  double computing = 0;          // parallel work, on all threads
  double waiting_for_input = 0;  // for elements that other threads compute
  double waiting_for_room = 0;   // back-pressure: until ready elements are taken
  // Utilisation: (planning + computing / threads) / elapsed. At 1, this stage limits the
  // throughput.
  double load = 0;

  double busy() const { return planning + computing; }
};

struct PipelineStatistics {
  // In data-flow order: inputs before the operator that reads them.
  std::vector<StageStatistics> stages = {};
  double elapsed = 0;  // seconds from the first to the last requested element
  size_t threads = 0;  // maximum number of concurrent threads

  // Returns the stage with the highest load; null if no stage has done any work yet.
  const StageStatistics* bottleneck() const;

  // Returns a human-readable table: one line per stage, and a line that names the bottleneck.
  std::string text() const;
};

}  // namespace recordpipe
