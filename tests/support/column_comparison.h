// The columns of Examples and SequenceExamples against protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// How the two differ on `bytes`, under a schema that fits what protobuf finds in them and under
// some that may not: one accepts what the other refuses, or they see other values. Empty where they
// agree. Batches are of several rows, with empty ones between.
std::string example_column_difference(std::span<const std::byte> bytes);
std::string sequence_column_difference(std::span<const std::byte> bytes);

}  // namespace recordpipe
