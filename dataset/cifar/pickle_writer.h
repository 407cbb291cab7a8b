// Writes the pickle of a CIFAR-10 batch with the same opcodes as the published batches (protocol 2,
// Python 2), so that every reader of the published batches can read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

// Returns the pickle of `batch`. `file_names` has one name per row, each shorter than 256 bytes.
std::string make_cifar_pickle(std::string_view batch_label, const CifarBatch& batch,
                              const std::vector<std::string>& file_names);

// Returns the content of batches.meta: num_cases_per_batch, label_names, num_vis.
std::string make_cifar_meta_pickle(uint16_t rows_per_batch,
                                   std::span<const std::string_view> label_names);

}  // namespace recordpipe
