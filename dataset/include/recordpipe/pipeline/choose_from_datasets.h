// choose_from_datasets: takes each element from the dataset that another dataset names.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/sample_from_datasets.h"

namespace recordpipe {

// For each element of `choices`, a number from 0 to datasets.size() - 1, yields the next element of
// that dataset, with the options and the epoch of the first dataset. Throws Error{invalid_argument}
// if there are no datasets. The elements of each input keep their order. Ends with `choices`; with
// StopOnEmptyDataset::yes (the default, as in tf.data), also when a dataset is chosen that has
// ended; otherwise such a choice yields nothing, and the end comes when all datasets have ended. A
// choice out of range, or one that fails, is an element that fails. Choices are read ahead,
// sequentially.
template <Element T>
Dataset<T> choose_from_datasets(const std::vector<Dataset<T>>& datasets,
                                const Dataset<int64_t>& choices,
                                StopOnEmptyDataset stop_on_empty = StopOnEmptyDataset::yes) {
  std::vector<internal::NodePtr> inputs;
  for (const Dataset<T>& dataset : datasets) inputs.push_back(internal::DatasetNode::of(dataset));
  internal::NodePtr node = internal::choose(std::move(inputs), internal::DatasetNode::of(choices),
                                            stop_on_empty == StopOnEmptyDataset::yes);
  return internal::DatasetNode::with<T>(datasets.front(), std::move(node));
}

}  // namespace recordpipe
