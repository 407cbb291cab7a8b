// The pickle of a CIFAR batch, matched: a closed set of shapes is recognised, nothing is executed.
//
// A pickle is a program for a stack machine that may call any function of Python's. This reader
// knows the opcodes and the five functions that a dict of lists, strings and one NumPy array is
// written with, by Python 2 (protocol 2, the published archives) and by Python 3 (protocols 2 to 5,
// NumPy 1 and 2, str or bytes keys, C or Fortran order), and computes their results itself:
//
//     numpy.core.multiarray _reconstruct, numpy ndarray, numpy dtype    arrays, up to protocol 4
//     numpy.core.numeric _frombuffer                                    arrays, protocol 5
//     _codecs encode                                                    bytes, Python 3's protocol
//     2
//
// (numpy._core for numpy.core as well). Every other global is refused by name.
//
// Opcodes: https://github.com/python/cpython/blob/main/Lib/pickletools.py
#pragma once

#include <cstdint>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/file.h"

namespace recordpipe {

// Reads `source`, which holds `size` bytes, to its end. The dict must hold
//     data                          uint8, [rows, 3072], rows from 1 to kMaxCifarRows
//     labels                        ints 0..9, one for each row (CIFAR-10)
//     fine_labels, coarse_labels    ints 0..99 and 0..19, likewise (CIFAR-100)
// and may hold anything else made of strings, numbers and lists, which is skipped. The pixels are
// copied once, from the source to where they stay (twice where they are in Fortran order).
//
// Throws Error with the source's path and the offset of the opcode in question: unsupported (a
// global, an opcode, a protocol or a dtype that is not read), corrupted (it contradicts itself:
// the stack, the memo, shapes, counts, labels, bytes after STOP), truncated (no STOP) and
// limit_exceeded. Memory stays below 200 MB plus `size` (plus the pixels once more where they are
// in Fortran order), whatever the pickle says.
CifarBatch read_cifar_pickle(ByteSource& source, uint64_t size, CifarDataset dataset);

}  // namespace recordpipe
