// zstd compression, for deflate() of compression.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

inline constexpr int kMinZstdLevel = 1;
inline constexpr int kMaxZstdLevel = 22;

// A sink that compresses into `sink` (not owned): one frame, with a checksum of its content.
std::unique_ptr<ByteSink> make_zstd_sink(ByteSink& sink, int level);

// `content` as one frame with its content size and a checksum.
std::string zstd_frame(std::span<const std::byte> content, int level);

}  // namespace recordpipe
