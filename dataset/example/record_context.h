// Errors about a record's data, completed with the record's position.
#pragma once

#include <string>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/record.h"

namespace recordpipe {

// `error` with the record's path and offset, if known. The offset of `error` itself, which is
// relative to the data, moves to the reason.
inline Error in_record(const Error& error, const Record& record) {
  Error::Parts parts{.kind = error.kind(),
                     .path = std::string(record.path),
                     .reason = error.reason(),
                     .hint = error.hint()};
  if (error.offset()) parts.reason += " (byte " + std::to_string(*error.offset()) + " of the data)";
  parts.reason += " in the record";
  if (!record.path.empty()) parts.offset = record.offset;
  return Error(std::move(parts));
}

}  // namespace recordpipe
