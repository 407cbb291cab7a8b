// Detects the format of an image file from its first bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace recordpipe {

// Returns "jpeg", "png", "gif", "bmp" or "webp" (all supported by browsers); empty for anything
// else.
inline std::string_view image_format(std::span<const std::byte> content) {
  constexpr std::string_view kZeros("\0\0\0", 3);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.starts_with("\xff\xd8\xff")) return "jpeg";
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return "gif";
  // (BMP: the header's size, a 4-byte number, is below 256; in text that starts with BM it isn't.)
  if (text.starts_with("BM") && text.size() > 26 && text.substr(15, 3) == kZeros) return "bmp";
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) return "webp";
  return {};
}

}  // namespace recordpipe
