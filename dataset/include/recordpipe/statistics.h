// Where a pipeline's time went, operator by operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recordpipe {

// Of one operator, or, as the last of all, of the "consumer": the thread that iterates, and what it
// does with the elements. Times are in seconds, summed over threads. What flat_map and interleave
// open counts as theirs.
struct StageStatistics {
  std::string name;  // as in explain(), without its parameters
  size_t depth = 0;  // 0: between the consumer and its source; 1 more in each of several inputs
  uint64_t elements = 0;         // handed on: planned ones, which may be ahead of the consumer
  double planning = 0;           // what it does in order, on one thread at a time
  double computing = 0;          // what it does on all threads
  double waiting_for_input = 0;  // for elements that are computed by other threads
  double waiting_for_room = 0;   // until the elements that are ready have been taken
  // What part of the time it could have had it took: planning of one thread's time, computing of
  // all threads'. 1: nothing goes faster before this does.
  double load = 0;

  double busy() const { return planning + computing; }
};

struct PipelineStatistics {
  // In the order elements take: inputs before the operator that reads them.
  std::vector<StageStatistics> stages = {};
  double elapsed = 0;  // seconds from the first to the last element that was asked for
  size_t threads = 0;  // that may work at the same time

  // The stage with the highest load; null where nothing has been done yet.
  const StageStatistics* bottleneck() const;

  // A table for people, a line for each stage, and one that names the bottleneck.
  std::string text() const;
};

}  // namespace recordpipe
