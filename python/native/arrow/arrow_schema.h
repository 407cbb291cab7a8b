// The Arrow type of each feature of parse().
//
//   FixedLenFeature([])              int64, float, large_binary or large_string
//   FixedLenFeature([2, 3])          fixed_size_list<fixed_size_list<VALUE>[3]>[2]
//   RaggedFeature                    large_list<VALUE>
//   RawFeature([2, 3], "uint8")      fixed_size_list<fixed_size_list<uint8>[3]>[2]
//   FixedLenSequenceFeature([2])     large_list<fixed_size_list<VALUE>[2]>
//   RaggedFeature in feature_lists   large_list<large_list<VALUE>>
//
// These are the layouts of a batch's columns. All fields are nullable, so that tables of different
// files have equal schemas.
#pragma once

#include "python/native/arrow/arrow_abi.h"
#include "python/native/dataset/parse_spec.h"

namespace recordpipe::python {

// Throws Error{unsupported} for a type that Arrow doesn't have, and for a name that is both in the
// context and in the feature lists: both become columns.
void export_schema(const ParseSpec& spec, ArrowSchema& out);

}  // namespace recordpipe::python
