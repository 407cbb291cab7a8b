// What the page shows of an RLDS episode, one Example with the values of all steps: some frames of
// each camera as a film strip, and a plot of each feature with numbers, a line for each dimension.
// All of it is bounded, however long the episode is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "tools/tfrecord/view/image_finder.h"

namespace recordpipe {

inline constexpr size_t kFramesShown = 8;  // of each camera, evenly spread
inline constexpr size_t kCamerasShown = 3;
inline constexpr size_t kPlotsShown = 12;
inline constexpr size_t kLinesShown = 16;
inline constexpr double kPlotWidth = 300;
inline constexpr double kPlotHeight = 60;

struct FilmStrip {
  std::string name = {};                                   // of the feature, without "steps/"
  std::vector<std::pair<size_t, FoundImage>> frames = {};  // with their steps
};

struct Plot {
  std::string name = {};
  size_t dimensions = 1;
  double min = 0;  // of the lines; infinities and NaNs are gaps
  double max = 0;
  // SVG path data, from 0, 0 to kPlotWidth, kPlotHeight. Of many steps, the lowest and the highest
  // value of each few.
  std::vector<std::string> lines = {};
};

struct Episode {
  size_t steps = 0;
  std::vector<FilmStrip> strips = {};
  std::vector<Plot> plots = {};
};

struct EpisodeOptions {
  std::string camera = {};  // the only feature with frames that are shown; "": all
  size_t thumbnail = 96;    // the shorter side of larger frames; 0: frames as they are
  size_t largest = 0;       // larger files are not shown
};

// Returns nothing for a record that is no episode: one that has none of the scalars of RLDS's steps
// (steps/is_first, ...), or no steps.
std::optional<Episode> find_episode(const MessageView& record, const EpisodeOptions& options);

}  // namespace recordpipe
