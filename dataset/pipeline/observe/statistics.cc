// Formats the table of the stages.
#include "recordpipe/pipeline/statistics.h"

#include <algorithm>
#include <cstdio>

namespace recordpipe {
namespace {

// For numbers only: names may be longer than `text`.
template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

}  // namespace

const StageStatistics* PipelineStatistics::bottleneck() const {
  const auto highest = std::ranges::max_element(stages, {}, &StageStatistics::load);
  return highest == stages.end() || highest->load <= 0 ? nullptr : &*highest;
}

std::string PipelineStatistics::text() const {
  size_t width = std::string_view("stage").size();
  for (const StageStatistics& stage : stages) {
    width = std::max(width, 2 * stage.depth + stage.name.size());
  }
  const auto padded = [width](std::string name) {
    name.resize(std::max(width, name.size()), ' ');
    return name;
  };
  std::string out =
      padded("stage") + format(" %14s %10s %10s %12s %12s %6s\n", "elements", "planning s",
                               "computing s", "input wait s", "room wait s", "load");
  for (const StageStatistics& stage : stages) {
    out += padded(std::string(2 * stage.depth, ' ') + stage.name) +
           format(" %14llu %10.3f %11.3f %12.3f %12.3f %5.0f%%\n",
                  static_cast<unsigned long long>(stage.elements), stage.planning, stage.computing,
                  stage.waiting_for_input, stage.waiting_for_room, 100 * stage.load);
  }
  const StageStatistics* narrowest = bottleneck();
  if (!narrowest) return out + "bottleneck: none yet\n";
  return out + "bottleneck: " + narrowest->name +
         format(", at %.0f%% of what %zu thread%s can give it in %.3f s\n", 100 * narrowest->load,
                threads, threads == 1 ? "" : "s", elapsed);
}

}  // namespace recordpipe
