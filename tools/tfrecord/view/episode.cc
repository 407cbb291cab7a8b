#include "tools/tfrecord/view/episode.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "recordpipe/example/feature_values.h"
#include "recordpipe/toolkit/image_format.h"

namespace recordpipe {
namespace {

constexpr std::string_view kSteps = "steps/";
constexpr size_t kMaxDimensions = 64;           // more are no action or state
constexpr size_t kMaxPieces = 100;              // of a line
constexpr size_t kMaxValues = size_t{1} << 22;  // of a plot, which are held at a time

// In RLDS, each step has one value of these.
constexpr std::string_view kStepScalars[] = {"steps/is_first", "steps/is_last", "steps/is_terminal",
                                             "steps/reward", "steps/discount"};

size_t count_steps(const MessageView& record) {
  for (const std::string_view name : kStepScalars) {
    const FeatureView* const feature = record.find_feature(name);
    if (feature != nullptr && feature->size() > 0) return feature->size();
  }
  return 0;
}

// Returns no frames unless each step has a value, and the first one is an image file.
FilmStrip film_strip(const NamedFeature& named, size_t steps, const EpisodeOptions& options) {
  FilmStrip strip{.name = std::string(named.name.substr(kSteps.size()))};
  const size_t shown = std::min(steps, kFramesShown);
  if (named.feature.size() != steps) return strip;
  size_t step = 0;
  for_each_value<FeatureKind::bytes>(named.feature, [&](std::span<const std::byte> file) {
    const size_t at = step++;
    const size_t next = shown > 1 ? strip.frames.size() * (steps - 1) / (shown - 1) : 0;
    if (at != next) return;
    const std::string_view format = image_format(file);
    if (format.empty() && at == 0) return;
    strip.frames.emplace_back(at, image_of_file(format, file, options.thumbnail, options.largest));
  });
  return strip;
}

// `values`: of one dimension, each step's.
std::string line_path(const Plot& plot, std::span<const double> values) {
  const size_t steps = values.size();
  const size_t piece = (steps + kMaxPieces - 1) / kMaxPieces;
  std::string path;
  bool has_gap = true;
  const auto line_to = [&](size_t step) {
    const double x = steps > 1 ? kPlotWidth * double(step) / double(steps - 1) : kPlotWidth / 2;
    const double y = plot.max > plot.min
                         ? kPlotHeight * (plot.max - values[step]) / (plot.max - plot.min)
                         : kPlotHeight / 2;
    // (h0: a point without neighbours is a dot.)
    path += fmt::format("{}{:.1f} {:.1f}{}", has_gap ? 'M' : 'L', x, y, has_gap ? "h0" : "");
    has_gap = false;
  };
  for (size_t begin = 0; begin < steps; begin += piece) {
    std::optional<size_t> lowest;
    std::optional<size_t> highest;
    for (size_t step = begin; step < std::min(begin + piece, steps); ++step) {
      if (!std::isfinite(values[step])) continue;
      if (!lowest || values[step] < values[*lowest]) lowest = step;
      if (!highest || values[step] > values[*highest]) highest = step;
    }
    if (!lowest) {
      has_gap = true;
      continue;
    }
    line_to(std::min(*lowest, *highest));
    if (*lowest != *highest) line_to(std::max(*lowest, *highest));
  }
  return path;
}

std::optional<Plot> plot_of(const NamedFeature& named, size_t steps) {
  const size_t dimensions = named.feature.size() / steps;
  if (dimensions == 0 || dimensions > kMaxDimensions || named.feature.size() % steps != 0 ||
      named.feature.size() > kMaxValues) {
    return std::nullopt;
  }
  Plot plot{.name = std::string(named.name.substr(kSteps.size())), .dimensions = dimensions};
  const size_t shown = std::min(dimensions, kLinesShown);
  std::vector<std::vector<double>> lines(shown);
  size_t count = 0;
  bool is_first = true;
  const auto add = [&](auto number) {
    const size_t dimension = count++ % dimensions;
    if (dimension >= shown) return;
    const auto value = static_cast<double>(number);
    lines[dimension].push_back(value);
    if (!std::isfinite(value)) return;
    plot.min = is_first ? value : std::min(plot.min, value);
    plot.max = is_first ? value : std::max(plot.max, value);
    is_first = false;
  };
  for_each_value<FeatureKind::int64s>(named.feature, add);
  for_each_value<FeatureKind::floats>(named.feature, add);
  if (is_first) return std::nullopt;
  for (const std::vector<double>& line : lines) plot.lines.push_back(line_path(plot, line));
  return plot;
}

}  // namespace

std::optional<Episode> find_episode(const MessageView& record, const EpisodeOptions& options) {
  Episode episode{.steps = count_steps(record)};
  if (episode.steps == 0) return std::nullopt;
  for (const NamedFeature& named : record.features()) {
    // The flags say what the ends of a strip show.
    if (!named.name.starts_with(kSteps) || named.name.starts_with("steps/is_")) continue;
    if (named.feature.kind() == FeatureKind::bytes) {
      const bool is_wanted = options.camera.empty() || options.camera == named.name;
      if (!is_wanted || episode.strips.size() == kCamerasShown) continue;
      FilmStrip strip = film_strip(named, episode.steps, options);
      if (!strip.frames.empty()) episode.strips.push_back(std::move(strip));
    } else if (episode.plots.size() < kPlotsShown) {
      if (auto plot = plot_of(named, episode.steps)) episode.plots.push_back(std::move(*plot));
    }
  }
  if (episode.strips.empty() && episode.plots.empty()) return std::nullopt;
  return episode;
}

}  // namespace recordpipe
