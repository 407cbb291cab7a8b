// The hints that errors about damaged files share.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

inline constexpr char kDamagedFileHint[] =
    "the file is damaged: compare it with its source, or fetch it again";
// Behind it, with Remedy::crc_check_off.
inline constexpr char kCheckOff[] =
    "; if all its records are like this, read it with CRC checks off";

// Begins the hint of a file whose first bytes are neither a record nor of another known format.
inline constexpr char kNoRecordsHint[] = "this is probably not a TFRecord file";
// With Remedy::detect_compression.
inline constexpr char kDetect[] = "let the compression be detected";

// Returns the error with what a program recommends besides, if it is about damaged records, and not
// about a file of another format; std::nullopt otherwise, and if nothing is recommended.
inline std::optional<Error> with_remedy(const Error& error, const std::string& remedy) {
  if (remedy.empty() || !is_damage(error.kind())) return std::nullopt;
  const bool may_have_records = error.hint().starts_with(kNoRecordsHint);
  const bool is_of_records =
      error.kind() == ErrorKind::truncated || error.remedy() == Remedy::salvage ||
      error.remedy() == Remedy::crc_check_off || error.hint() == kDamagedFileHint;
  if (!may_have_records && !is_of_records) return std::nullopt;
  Error::Parts parts = error.parts();
  if (!parts.hint.empty()) parts.hint += "; ";
  parts.hint += (may_have_records ? "if it is one, " : "") + remedy;
  return Error(std::move(parts));
}

// Calls read(), whose errors get the remedy.
template <typename Read>
auto naming_remedy(const std::string& remedy, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (const auto damage = with_remedy(error, remedy)) throw Error(*damage);
    throw;
  }
}

}  // namespace recordpipe
