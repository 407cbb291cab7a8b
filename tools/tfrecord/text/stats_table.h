// Feature statistics as a table, for CSV.
#pragma once

#include "recordpipe/toolkit/feature_statistics.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

// A row for each feature and kind of its values, below the names of the columns: "feature", "kind",
// "count", "nans", "min", "max", "mean", "sd", "p1" to "p99", "distinct". For bytes, "min" to "p99"
// are those of the lengths. "distinct" is empty if not all different values were counted.
TextTable stats_table(const FeatureStatistics& statistics);

}  // namespace recordpipe
