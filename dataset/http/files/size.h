// Finds whether there is a file at a URL, and its size, with one request.
#pragma once

#include <optional>

#include "dataset/http/target.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// Requests the first byte: HEAD is not always allowed where GET is, and its errors have no body.
// Empty if there is no file. Throws Error{unsupported} if the server does not report the size.
std::optional<FileStatus> status_at(const HttpTarget& target, const HttpReadOptions& options,
                                    HttpClient& client);

}  // namespace recordpipe
