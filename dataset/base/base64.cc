#include "dataset/base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace recordpipe {
namespace {

// The two base64 digits of each 12-bit value.
constexpr auto kDigitPairs = [] {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::array<char, 2>, 4096> pairs = {};
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kDigits[i >> 6], kDigits[i & 63]};
  return pairs;
}();

}  // namespace

void append_base64(std::string& text, std::span<const std::byte> bytes) {
  const auto byte = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  const size_t triples = bytes.size() / 3;
  const size_t begin = text.size();
  text.resize(begin + 4 * triples);
  char* to = text.data() + begin;
  for (size_t i = 0; i < 3 * triples; i += 3, to += 4) {
    const uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    std::memcpy(to, kDigitPairs[bits >> 12].data(), 2);
    std::memcpy(to + 2, kDigitPairs[bits & 0xfff].data(), 2);
  }
  const size_t rest = bytes.size() - 3 * triples;
  if (rest == 0) return;
  const uint32_t first = byte(3 * triples);
  const uint32_t second = rest == 2 ? byte(3 * triples + 1) : 0;
  const uint32_t bits = first << 16 | second << 8;
  text.append(kDigitPairs[bits >> 12].data(), 2);
  text += rest == 2 ? kDigitPairs[bits & 0xfff][0] : '=';
  text += '=';
}

}  // namespace recordpipe
