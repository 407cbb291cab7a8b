// The wire view of an Example against protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// The difference between the two on `bytes`: only one accepts, or features or values differ. Empty
// if they agree.
std::string difference_from_protobuf(std::span<const std::byte> bytes);

}  // namespace recordpipe
