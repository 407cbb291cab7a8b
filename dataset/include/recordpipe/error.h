// The one family of exceptions this library throws.
//
// Every failure names where it happened (path, and the byte offset where there is one), the reason
// in words, and what to do about it. The library never prints, exits or aborts: programs catch
// recordpipe::Error in main and print what().
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recordpipe {

enum class ErrorKind {
  invalid_argument,   // the caller asked for something that makes no sense
  not_found,          // no such file, URL, member or feature
  already_exists,     // something is there that would be overwritten
  permission_denied,  //
  io,                 // the operating system failed a read, write, sync, rename, ...
  no_space,           // disk full, quota or file-size limit reached
  truncated,          // the input ends in the middle of something
  corrupted,          // the input contradicts itself: a CRC, a length, a structure
  unsupported,        // well formed, but not something this program reads
  limit_exceeded,     // a stated cap on memory, size, depth or count was reached
  network,            // a transfer failed
  checksum_mismatch,  // a whole file is not the one that was asked for
  busy,               // another process holds the target
  cancelled,          // the caller asked to stop
};

// What a setting of the library can do about an error, beside the hint, which says it in words: for
// programs whose users know the setting by another name.
enum class Remedy {
  none,
  salvage,                // a TFRecord file is damaged: other records may be intact
  crc_check_off,          // damaged, or CrcCheck::never if all its records are like this
  raise_max_record_size,  // a longer record is allowed by RecordReadOptions::max_record_size
  compression_gzip,       // RecordReadOptions::compression is another
  compression_zlib,
  compression_zstd,
};

// "corrupted", "not_found", ...
std::string_view to_string(ErrorKind kind);

// Whether the input isn't what it was: truncated or corrupted.
constexpr bool is_damage(ErrorKind kind) {
  return kind == ErrorKind::truncated || kind == ErrorKind::corrupted;
}

class Error : public std::runtime_error {
 public:
  // All parts but the kind and the reason may be empty.
  struct Parts {
    ErrorKind kind = ErrorKind::io;
    std::string path = {};                // file, URL or "archive:member"
    std::optional<uint64_t> offset = {};  // in bytes from the start of `path`
    std::string reason = {};              // a lower-case phrase, without the path and the offset
    std::string hint = {};                // what to do, a sentence
    Remedy remedy = Remedy::none;         // what of the hint is a setting
  };

  explicit Error(Parts parts);

  ErrorKind kind() const { return parts_.kind; }
  const std::string& path() const { return parts_.path; }
  std::optional<uint64_t> offset() const { return parts_.offset; }
  const std::string& reason() const { return parts_.reason; }
  const std::string& hint() const { return parts_.hint; }
  Remedy remedy() const { return parts_.remedy; }
  const Parts& parts() const { return parts_; }

  // what() is "PATH: REASON at OFFSET (HINT)", without the parts that are empty. Control characters
  // and bytes that are not UTF-8 in the path are written \xNN, so that a message is always one
  // line.

 private:
  Parts parts_;
};

// An Error for errno `code` after `action` ("open", "write", ...) on `path`. The kind follows from
// the code: ENOENT is not_found, ENOSPC, EDQUOT and EFBIG are no_space, EACCES and EPERM are
// permission_denied, EISDIR is invalid_argument, anything else is io.
Error system_error(int code, std::string_view action, std::string path);

// `text` as one printable line: control characters, backslashes and bytes that are not UTF-8
// become \xNN.
std::string printable(std::string_view text);

}  // namespace recordpipe
