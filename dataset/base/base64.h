// Encodes bytes as base64 with padding (RFC 4648, section 4).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

void append_base64(std::string& text, std::span<const std::byte> bytes);

}  // namespace recordpipe
