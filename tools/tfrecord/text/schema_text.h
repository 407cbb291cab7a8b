// Formats inferred schemas and feature statistics as text, schemas as JSON, statistics as a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "recordpipe/toolkit/feature_statistics.h"
#include "recordpipe/toolkit/schema_inference.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {

// "Example", ..., "mixed" for records of several kinds, "unknown".
std::string_view kind_text(const InferredSchema& schema);
// "1 value", "3 values", "0 to 7 values"; empty if no record has a list.
std::string values_text(const InferredFeature& feature);
// Returns aligned lines, one per feature: name, kind, number of values, share of the records that
// have it.
std::string features_text(const InferredSchema& schema, std::string_view indent);

// {"image": {"kind": "bytes", "values": 1, "share": 1.0}, ...}; "values" is {"min": 0, "max": 7} if
// it varies, null if no record has a list.
nlohmann::ordered_json features_json(const InferredSchema& schema);
// {"frames": {"kind": ..., "values": ..., "share": ..., "steps": 5}, ...}; "steps" has the form of
// "values".
nlohmann::ordered_json feature_lists_json(const InferredSchema& schema);

// A line that says why records are undecided; empty if none is.
std::string undecided_text(const UndecidedRecords& undecided, std::string_view indent);
// Adds "undecided": {"records", "first"} if any record is.
void add_undecided(const UndecidedRecords& undecided, nlohmann::ordered_json& json);

// "features of other names, 3 in all, which were not counted: ..."
std::string left_out_text(uint64_t occurrences);
std::string stats_as_text(const FeatureStatistics& statistics);
// For CSV: a row for each feature and kind of its values, below the names of the columns:
// "feature", "kind", "count", "nans", "min", "max", "mean", "sd", "p1" to "p99", "distinct". For
// bytes, "min" to "p99" are those of the lengths. "distinct" is empty if not all different values
// were counted.
TextTable stats_table(const FeatureStatistics& statistics);

}  // namespace recordpipe
