// Statistics of features (feature_statistics.h) as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recordpipe/toolkit/feature_statistics.h"

namespace recordpipe {

// What is written of a feature's values.
inline constexpr size_t kFrequentShown = 5;
inline constexpr size_t kHistogramBins = 16;
inline const std::vector<double> kQuantilesShown = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

// One object on one line: {"records", "with_features", "features": {NAME: {"kind", "records",
// "share", "values", "int64", "float" or "bytes": {"count", "min", "max", "mean", "sd",
// "quantiles", ...}}}, "feature_lists"}. Infinities are written as in json_text.h.
std::string statistics_as_json(const FeatureStatistics& statistics);

}  // namespace recordpipe
