// Reads the pickles of CIFAR batches safely: accepts a closed set of forms and executes nothing.
//
// A pickle is a program for a stack machine that may call any Python function. This reader knows
// the opcodes and the five functions used for a dict of lists, strings and one NumPy array, as
// written by Python 2 (protocol 2, the published archives) and Python 3 (protocols 2 to 5, NumPy 1
// and 2, str or bytes keys, C or Fortran order), and computes their results itself:
//
//     numpy.core.multiarray _reconstruct, numpy ndarray, numpy dtype    arrays, up to protocol 4
//     numpy.core.numeric _frombuffer                                    arrays, protocol 5
//     _codecs encode                                                    bytes, Python 3, protocol 2
//
// (also with numpy._core in place of numpy.core). Any other global is an error that names it.
//
// Opcodes: https://github.com/python/cpython/blob/main/Lib/pickletools.py
#pragma once

#include <cstdint>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Reads `source`, which has `size` bytes, to its end. The dict must have
//     data                          uint8, [rows, 3072], 1 to kMaxCifarRows rows
//     labels                        ints 0..9, one per row (CIFAR-10)
//     fine_labels, coarse_labels    ints 0..99 and 0..19, one per row (CIFAR-100)
// and may have other entries of strings, numbers and lists, which are skipped. The pixels are
// copied once (twice if they are in Fortran order).
//
// Throws Error with the source's path and the offset of the opcode: unsupported (a global, opcode,
// protocol or dtype), corrupted (an inconsistent stack, memo, shape, count or label; bytes after
// STOP), truncated (no STOP), limit_exceeded. Memory is limited to 200 MB plus `size` (plus the
// size of the pixels again if they are in Fortran order) for any input.
CifarBatch read_cifar_pickle(ByteSource& source, uint64_t size, CifarDataset dataset);

}  // namespace recordpipe
