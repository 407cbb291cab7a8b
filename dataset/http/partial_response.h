// Validates responses to range requests (RFC 9110, sections 13.1.5 and 15.3.7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

// Bytes [first, last] of a file of `total` bytes.
struct PartOfFile {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
};

// Returns the range of a 206 response. Empty unless the range starts at `first`, agrees with the
// Content-Length, and belongs to the same file: the response must not have a strong ETag other than
// `validator`, nor a size other than `total` (empty if unknown).
std::optional<PartOfFile> matching_part(const HttpResponse& response, uint64_t first,
                                        std::optional<uint64_t> total,
                                        const std::string& validator);

// Error{network}: the file changed on the server after its first bytes were read.
Error file_changed(const HttpUrl& url);

}  // namespace recordpipe
