// zstd compression, for deflate() of compression.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/io/file.h"

namespace recordpipe {

inline constexpr int kMinZstdLevel = 1;
inline constexpr int kMaxZstdLevel = 22;

// Returns a sink that writes one compressed frame, with a checksum of its content, into `sink` (not
// owned).
std::unique_ptr<ByteSink> make_zstd_sink(ByteSink& sink, int level);

// Compresses `content` into one frame, which states the content's size and has a checksum.
std::string zstd_frame(std::span<const std::byte> content, int level);

}  // namespace recordpipe
