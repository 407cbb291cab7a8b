// gzip compression with ISA-L, many times faster than zlib. Portable counterpart: deflate_block.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace recordpipe {

// `content` (below 1 GiB) as one gzip member; empty if recordpipe was built without ISA-L.
std::optional<std::string> isal_gzip_member(std::span<const std::byte> content);

}  // namespace recordpipe
