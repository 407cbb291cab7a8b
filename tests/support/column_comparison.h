// The columns of Examples and SequenceExamples against protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// The difference between the two on `bytes`, under a schema that matches the message as parsed by
// protobuf, and under some that may not: only one accepts, or values differ. Empty if they agree.
// Batches have several rows, with empty ones between.
std::string example_column_difference(std::span<const std::byte> bytes);
std::string sequence_column_difference(std::span<const std::byte> bytes);

}  // namespace recordpipe
