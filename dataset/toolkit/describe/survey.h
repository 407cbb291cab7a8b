// Schemas and statistics of all records of files, on several threads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/feature_statistics.h"
#include "recordpipe/toolkit/schema_inference.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

struct SurveyOptions {
  InputReading input = {};               // without paths; what on_damage leaves out is counted
  RecordFilter filter = RecordFilter();  // by default all records
  size_t threads = 0;                    // 0: available_cpus()
};

// Both look into all selected records of the files together; the result does not depend on the
// number of threads. Throw the errors of InputRecords, and those of
// RecordFilter::require_possible(), whose notes go to `work`.
InferredSchema infer_schema(const FileWork& work, const std::vector<std::string>& paths,
                            SurveyOptions options = {});
// `names`: the features to include (default: all). Throws Error{not_found} for a name that no
// record has (require_found()), unless no record was selected.
FeatureStatistics compute_statistics(const FileWork& work, const std::vector<std::string>& paths,
                                     const FeatureNames& names = {}, SurveyOptions options = {});

// The same without the errors for features that no record has: of a part of the records, another
// part of which may have them. `options` remembers what its filter has seen.
InferredSchema survey_schema(const FileWork& work, const std::vector<std::string>& paths,
                             SurveyOptions& options);
struct StatisticsSurvey {
  FeatureStatistics statistics = {};
  FeatureNames found = {};                // requested names in all records read, selected or not
  std::vector<std::string> present = {};  // names of the first records, if names were requested
};
StatisticsSurvey survey_statistics(const FileWork& work, const std::vector<std::string>& paths,
                                   const FeatureNames& names, SurveyOptions& options);

}  // namespace recordpipe
