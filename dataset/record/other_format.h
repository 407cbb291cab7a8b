// Recognises files of other formats by their first bytes, for hints.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

// Returns what a file is that starts like this, and what to do: "this is an HDF5 file: read it
// with h5py"; empty if it is of no known format. 262 bytes suffice; of fewer, tar archives are not
// recognised.
std::string hint_for_other_format(std::span<const std::byte> start);

}  // namespace recordpipe
