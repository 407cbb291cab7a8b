// Compressing into gzip by ISA-L, many times as fast as zlib. Its twin is zlib in deflate_block.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace recordpipe {

// `content`, below 1 GiB, as one gzip member; nothing where the library was built without ISA-L.
std::optional<std::string> isal_gzip_member(std::span<const std::byte> content);

}  // namespace recordpipe
