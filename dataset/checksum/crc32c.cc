// Selects the CRC-32C implementation at its first use in the process.
#include "recordpipe/crc32c.h"

#include "dataset/checksum/crc32c_implementations.h"

namespace recordpipe {

uint32_t crc32c_extend(uint32_t crc, std::span<const std::byte> data) {
  static const auto extend = crc32c_implementations().back().extend;
  return extend(crc, data);
}

const std::vector<Crc32cImplementation>& crc32c_implementations() {
  static const std::vector<Crc32cImplementation> implementations = [] {
    std::vector<Crc32cImplementation> available = {{"portable", crc32c_extend_portable}};
#if defined(__x86_64__)
    if (crc32c_sse42_supported()) available.push_back({"sse42", crc32c_extend_sse42});
#endif
#if defined(__aarch64__)
    if (crc32c_armv8_supported()) available.push_back({"armv8", crc32c_extend_armv8});
#endif
    return available;
  }();
  return implementations;
}

}  // namespace recordpipe
