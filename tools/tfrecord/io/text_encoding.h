// Text in other encodings than UTF-8.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Throws UsageError if iconv doesn't know the encoding.
void require_encoding(const std::string& encoding);

// Returns `source`, a text in `encoding` (a name of iconv), as UTF-8. read() throws
// Error{corrupted}, with line and byte, where the text is not of that encoding.
//
// Without an encoding, returns the same bytes, and throws Error{unsupported} if they begin as
// UTF-16 or UTF-32 does: with a byte order mark, or with a NUL in every other byte.
std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source,
                                    const std::string& encoding);

}  // namespace recordpipe
