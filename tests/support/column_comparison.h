// Compares the columns of Examples and SequenceExamples with the values of protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// Return the difference between the columns and protobuf for `bytes`: only one of them accepts the
// message, or values differ. Empty if they agree. The schemas are one that fits the message as
// parsed by protobuf, and several that may not fit. Batches have several rows, with empty rows
// between them.
std::string example_column_difference(std::span<const std::byte> bytes);
std::string sequence_column_difference(std::span<const std::byte> bytes);

}  // namespace recordpipe
