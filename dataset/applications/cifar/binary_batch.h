// A batch file of the binary archives: records of one label byte (CIFAR-10) or two (CIFAR-100: the
// coarse label, then the fine one), each followed by 3072 pixel bytes; nothing else.
// https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <cstdint>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/file.h"

namespace recordpipe {

// Reads `source`, which holds `size` bytes. Throws Error{corrupted} where that is no whole number
// of records or a label is too large, Error{limit_exceeded} past kMaxCifarRows.
CifarBatch read_cifar_binary(ByteSource& source, uint64_t size, CifarDataset dataset);

}  // namespace recordpipe
