// The statistics of the numbers of steps, by which robot policies normalise actions and states.
//
// For each element of a feature (each dimension of an action) over all steps of all episodes: mean,
// standard deviation (of the population, as numpy.std), least and greatest value, and the quantiles
// 0.01 and 0.99 (linear between the two closest values, as numpy.quantile). They are exact: all
// values are read, quantiles are not estimated. Sums are in double precision, in the order of the
// steps, so the results are the same at any number of threads.
//
// NaN and infinities are left out, and counted: the statistics are those of an element's finite
// values, and NaN if it has none.
//
// Memory: 8 bytes per value of one feature, while it is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/rlds/steps.h"

namespace recordpipe::rlds {

// An episode with values that were left out.
struct LeftOutValues {
  bool operator==(const LeftOutValues&) const = default;

  uint64_t episode = 0;   // its number
  std::string path = {};  // of its record
  uint64_t offset = 0;
  uint64_t values = 0;  // the number of NaNs and infinities
};

// Each vector of numbers has an element for each of the feature's.
struct StepStatistics {
  // So many episodes are named in `episodes`.
  static constexpr size_t kMaxEpisodes = 100;

  bool operator==(const StepStatistics&) const = default;

  std::string name;  // of the column
  std::vector<size_t> shape;
  std::vector<double> mean = {};
  std::vector<double> std = {};
  std::vector<double> min = {};
  std::vector<double> max = {};
  std::vector<double> q01 = {};
  std::vector<double> q99 = {};
  std::vector<uint64_t> left_out = {};       // the number of NaNs and infinities
  std::vector<LeftOutValues> episodes = {};  // the first ones that have such values
};

struct EpisodeStatistics {
  bool operator==(const EpisodeStatistics&) const = default;

  uint64_t episodes = 0;
  uint64_t steps = 0;
  std::vector<StepStatistics> features = {};  // in the order of the reader's columns
};

struct EpisodeStatisticsOptions {
  size_t threads = 0;         // 0: available_cpus()
  std::stop_token stop = {};  // then throws Error{cancelled}
  // Whether results are kept, and kept ones are used (default): in a file
  // FOLDER/statistics-HASH.json beside the data, or in the user's cache if the folder can't be
  // written. The hash is that of the files' contents, the slices and the features.
  bool keep = true;
  // Called with the path of a new file.
  std::function<void(const std::string& path)> kept = {};
};

// The statistics of the columns of `reader`, which must be numbers of steps without a window.
// Throws Error{invalid_argument} for other columns and without steps, and the errors of reading a
// record.
EpisodeStatistics episode_statistics(const StepReader& reader,
                                     const EpisodeStatisticsOptions& options = {},
                                     FileSystem& file_system = posix_file_system());

}  // namespace recordpipe::rlds
