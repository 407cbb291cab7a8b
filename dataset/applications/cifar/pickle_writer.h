// Writing the pickle of a CIFAR-10 batch, opcode for opcode as the published ones were written
// (protocol 2, Python 2), so that whatever reads those reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

// `file_names` are shorter than 256 bytes, one for each row of `batch`.
std::string make_cifar_pickle(std::string_view batch_label, const CifarBatch& batch,
                              const std::vector<std::string>& file_names);

// batches.meta: num_cases_per_batch, label_names, num_vis.
std::string make_cifar_meta_pickle(uint16_t rows_per_batch,
                                   std::span<const std::string_view> label_names);

}  // namespace recordpipe
