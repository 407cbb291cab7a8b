// Serialisation of an image of a CIFAR batch as an Example.
#pragma once

#include <cstddef>
#include <string>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

// Appends Example{image: bytes[3072], label: int64}; if the batch has coarse labels, also
// coarse_label and fine_label (equal to label).
void append_cifar_example(const CifarBatch& batch, size_t row, std::string& out);

}  // namespace recordpipe
