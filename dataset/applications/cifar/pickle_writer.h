// Writes the pickle of a CIFAR-10 batch with the same opcodes as the published ones (protocol 2,
// Python 2), for compatibility with all their readers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

// `file_names`: one per row of `batch`, each shorter than 256 bytes.
std::string make_cifar_pickle(std::string_view batch_label, const CifarBatch& batch,
                              const std::vector<std::string>& file_names);

// batches.meta: num_cases_per_batch, label_names, num_vis.
std::string make_cifar_meta_pickle(uint16_t rows_per_batch,
                                   std::span<const std::string_view> label_names);

}  // namespace recordpipe
