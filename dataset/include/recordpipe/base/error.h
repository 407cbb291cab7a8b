// Defines recordpipe::Error, the exception type of this library.
//
// Every error names the path, the byte offset (if there is one), the reason, and how to fix the
// problem. The library never prints, exits or aborts: programs catch recordpipe::Error in main and
// print what().
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recordpipe {

enum class ErrorKind {
  // The caller passed an invalid argument, or a call is not possible in the object's state (for
  // example, write() after close()). Also the kind of the trainer's NotFiniteError: the loss or a
  // gradient of a training is not finite.
  invalid_argument,
  not_found,          // no such file, URL, member or feature
  already_exists,     // the target exists and must not be overwritten
  permission_denied,  // the operating system or the server denied access
  io,                 // a system call (read, write, sync, rename, ...) failed
  no_space,           // disk full, quota or file-size limit reached
  truncated,          // the input ends too early
  corrupted,          // the input is inconsistent: a CRC, a length, a structure
  unsupported,        // well formed, but not supported
  limit_exceeded,     // a documented limit on memory, size, depth or count was reached
  network,            // a transfer failed
  checksum_mismatch,  // a whole file is not the expected one
  busy,               // another process or thread holds the lock of the target
  cancelled,          // the caller requested a stop
};

// The library setting that may help. The hint says the same in words. Programs whose users know the
// setting by another name (a command-line option) use the Remedy instead.
enum class Remedy {
  none,
  salvage,                // the TFRecord file is damaged; other records may be intact
  crc_check_off,          // the file is damaged, or its writer computed wrong CRCs: CrcCheck::never
  raise_max_record_size,  // RecordReadOptions::max_record_size allows longer records
  detect_compression,     // RecordReadOptions::compression must not be set
  compression_zlib,       // it must be zlib, which is detected by two bytes only
};

// "corrupted", "not_found", ...
std::string_view to_string(ErrorKind kind);

// Whether the input is damaged: truncated or corrupted.
constexpr bool is_damage(ErrorKind kind) {
  return kind == ErrorKind::truncated || kind == ErrorKind::corrupted;
}

class Error : public std::runtime_error {
 public:
  // All parts except the kind and the reason may be empty.
  struct Parts {
    ErrorKind kind = ErrorKind::io;
    // A file, a URL or "archive:member". Error stores a URL without its user name, password and
    // fragment, and with "?..." instead of its query, because these parts may contain secrets.
    std::string path = {};
    std::optional<uint64_t> offset = {};  // in bytes from the start of `path`
    std::string reason = {};              // a lower-case phrase, without path and offset
    std::string hint = {};                // what to do, in the imperative
    Remedy remedy = Remedy::none;         // the setting that the hint names, if any
  };

  explicit Error(Parts parts);

  ErrorKind kind() const { return parts_.kind; }
  const std::string& path() const { return parts_.path; }
  std::optional<uint64_t> offset() const { return parts_.offset; }
  const std::string& reason() const { return parts_.reason; }
  const std::string& hint() const { return parts_.hint; }
  Remedy remedy() const { return parts_.remedy; }
  const Parts& parts() const { return parts_; }

  // what() is "PATH: REASON at OFFSET (HINT)", without the empty parts. Control characters and
  // bytes that are not UTF-8 are written as \xNN, so a message is always a single line.

 private:
  Parts parts_;
};

// Returns an Error for the errno value `code` after `action` ("open", "write", ...) on `path`.
// Kinds:
//   ENOENT, ENOTDIR        not_found
//   EACCES, EPERM, EROFS   permission_denied
//   ENOSPC, EDQUOT, EFBIG  no_space
//   EISDIR                 invalid_argument
//   any other              io
Error system_error(int code, std::string_view action, std::string path);

// Returns `text` as one printable line: control characters, backslashes and bytes that are not
// UTF-8 are written as \xNN.
std::string printable(std::string_view text);

}  // namespace recordpipe
