// Whether an answer to a range request holds what was asked for (RFC 9110, sections 13.1.5 and
// 15.3.7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

// Bytes [first, last] of a file of `total` bytes.
struct PartOfFile {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
};

// What a 206 holds, if that starts at `first`, agrees with its own Content-Length, and is of the
// same file: no other strong ETag than `validator`, no other size than `total` (nothing: not
// known).
std::optional<PartOfFile> matching_part(const HttpResponse& response, uint64_t first,
                                        std::optional<uint64_t> total,
                                        const std::string& validator);

// Error{network}: it isn't the file any more whose first bytes were read.
Error file_changed(const HttpUrl& url);

}  // namespace recordpipe
