// Statistics of features (feature_statistics.h) as text.
#pragma once

#include <string>

#include "recordpipe/toolkit/feature_statistics.h"

namespace recordpipe {

std::string stats_as_text(const FeatureStatistics& statistics);

}  // namespace recordpipe
