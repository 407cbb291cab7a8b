// What the library's hints mean on the command line.
#pragma once

#include <string>

#include "recordpipe/error.h"
#include "recordpipe/toolkit/damaged_region.h"

namespace recordpipe {

// All of an error, for standard error: its hint names options instead of the library's settings,
// and, for damaged records, what can be done about them.
std::string text_of(const Error& error);

// The hint of a region, for commands that look for damage and so check every CRC.
std::string hint_of(const DamagedRegion& region);

}  // namespace recordpipe
