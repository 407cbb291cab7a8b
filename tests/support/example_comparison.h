// Compares the wire view of an Example with protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// Returns the difference between the wire view and protobuf for `bytes`: only one of them accepts
// the Example, or features or values differ. Empty if they agree.
std::string difference_from_protobuf(std::span<const std::byte> bytes);

}  // namespace recordpipe
