// The parameters with which zlib is initialised, for writing and for reading.
#pragma once

namespace recordpipe {

// Windows of 32 KiB. zlib adds 16 for gzip's header and trailer, and negates the number for neither
// a header nor a trailer.
inline constexpr int kZlibWindow = 15;
inline constexpr int kGzipWindow = 16 + 15;
inline constexpr int kRawWindow = -15;

inline constexpr int kZlibMemoryLevel = 8;  // zlib's default

}  // namespace recordpipe
