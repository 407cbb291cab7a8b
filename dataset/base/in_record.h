// The place of a record in an error about its content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Returns `error` with the record's path and offset. An offset in `error`, which is relative to
// `inside`, moves to the reason: "... (byte 7 of the data) in the record". Without a path there is
// no offset.
inline Error in_record(const Error& error, std::string_view path, uint64_t offset,
                       std::string_view inside = "data") {
  Error::Parts parts = error.parts();
  parts.path = path;
  parts.offset.reset();
  if (error.offset()) {
    parts.reason += " (byte " + std::to_string(*error.offset()) + " of the ";
    parts.reason.append(inside) += ')';
  }
  parts.reason += " in the record";
  if (!path.empty()) parts.offset = offset;
  return Error(std::move(parts));
}

}  // namespace recordpipe
