// sample_from_datasets: several datasets mixed by chance.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recordpipe/dataset.h"

namespace recordpipe {

enum class StopOnEmptyDataset { no, yes };

// A mixture of `datasets` (at least one), with the options and the epoch of the first. `weights`
// says how likely each is; none: all alike. The elements of one input keep their order. An input
// that has run out is drawn no more, unless the whole is to stop there (tf.data's
// stop_on_empty_dataset, whose default is no, too). An input of weight 0 never comes, one of any
// other weight does: it counts as a multiple of 2^-62 of the sum of the weights, at least one.
// Throws Error{invalid_argument} for weights that make no sense.
template <Element T>
Dataset<T> sample_from_datasets(const std::vector<Dataset<T>>& datasets,
                                std::vector<double> weights, uint64_t seed,
                                StopOnEmptyDataset stop_on_empty = StopOnEmptyDataset::no) {
  std::vector<internal::NodePtr> inputs;
  for (const Dataset<T>& dataset : datasets) inputs.push_back(dataset.node());
  internal::NodePtr node = internal::sample(std::move(inputs), std::move(weights), seed,
                                            stop_on_empty == StopOnEmptyDataset::yes);
  return datasets.front().template with<T>(std::move(node));
}

}  // namespace recordpipe
