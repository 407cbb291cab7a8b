// The wire view of an Example against protobuf's own parser.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// How the two differ on `bytes`: one accepts what the other refuses, or they see other features or
// values. Empty where they agree.
std::string difference_from_protobuf(std::span<const std::byte> bytes);

}  // namespace recordpipe
