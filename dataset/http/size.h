// Finds the size of the file at a URL with one request.
#pragma once

#include <cstdint>

#include "dataset/http/target.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// Requests the first byte: HEAD is not always allowed where GET is, and its errors have no body.
// Throws Error{not_found}, or Error{unsupported} if the server does not report the size.
uint64_t size_at(const HttpTarget& target, const HttpReadOptions& options, HttpClient& client);

}  // namespace recordpipe
