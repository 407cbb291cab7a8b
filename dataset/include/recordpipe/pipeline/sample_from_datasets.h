// sample_from_datasets: a random mixture of several datasets.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

enum class StopOnEmptyDataset { no, yes };

// Mixes `datasets` (at least one) at random, with the options and the epoch of the first dataset.
// `weights` are the sampling probabilities, up to a common factor; empty: uniform. The elements of
// each input keep their order. With StopOnEmptyDataset::no (the default, as in tf.data), exhausted
// inputs are no longer sampled. With StopOnEmptyDataset::yes, the mixture ends when an exhausted
// input is sampled (tf.data's stop_on_empty_dataset). An input of weight 0 is never sampled. Any
// other weight is rounded to a positive multiple of 2^-62 of the sum of the weights. Throws
// Error{invalid_argument} for invalid weights, and if there are no datasets.
template <Element T>
Dataset<T> sample_from_datasets(const std::vector<Dataset<T>>& datasets,
                                std::vector<double> weights, uint64_t seed,
                                StopOnEmptyDataset stop_on_empty = StopOnEmptyDataset::no) {
  std::vector<internal::NodePtr> inputs;
  for (const Dataset<T>& dataset : datasets) inputs.push_back(internal::DatasetNode::of(dataset));
  internal::NodePtr node = internal::sample(std::move(inputs), std::move(weights), seed,
                                            stop_on_empty == StopOnEmptyDataset::yes);
  return internal::DatasetNode::with<T>(datasets.front(), std::move(node));
}

}  // namespace recordpipe
