// Reads the batch files of the binary archives. A record consists of one label byte (CIFAR-10) or
// two (CIFAR-100: the coarse label, then the fine label), followed by 3072 pixel bytes.
// https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <cstdint>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Reads `source`, which has `size` bytes. Throws Error{corrupted} if `size` is 0 or not a multiple
// of the record size, or if a label is too large; Error{limit_exceeded} above kMaxCifarRows
// records.
CifarBatch read_cifar_binary(ByteSource& source, uint64_t size, CifarDataset dataset);

}  // namespace recordpipe
