// recordpipe::Error: assembles the message.
#include "recordpipe/base/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "dataset/base/one_line.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {
namespace {

Error::Parts with_shown_path(Error::Parts parts) {
  parts.path = without_secrets(parts.path);
  return parts;
}

std::string message_of(const Error::Parts& parts) {
  std::string message;
  if (!parts.path.empty()) message += printable(parts.path) + ": ";
  message += one_line(parts.reason);
  if (parts.offset) message += " at " + std::to_string(*parts.offset);
  if (!parts.hint.empty()) message += " (" + one_line(parts.hint) + ")";
  return message;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::already_exists:
      return "already_exists";
    case ErrorKind::permission_denied:
      return "permission_denied";
    case ErrorKind::io:
      return "io";
    case ErrorKind::no_space:
      return "no_space";
    case ErrorKind::truncated:
      return "truncated";
    case ErrorKind::corrupted:
      return "corrupted";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::limit_exceeded:
      return "limit_exceeded";
    case ErrorKind::network:
      return "network";
    case ErrorKind::checksum_mismatch:
      return "checksum_mismatch";
    case ErrorKind::busy:
      return "busy";
    case ErrorKind::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Error::Error(Parts parts)
    : std::runtime_error(message_of(with_shown_path(parts))),
      parts_(with_shown_path(std::move(parts))) {}

Error system_error(int code, std::string_view action, std::string path) {
  ErrorKind kind = ErrorKind::io;
  std::string hint;
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      kind = ErrorKind::not_found;
      if (path.find("://") != path.npos)
        hint =
            "the URLs that C++ and the tfrecord command read are http://, https://, s3://, gs://";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      kind = ErrorKind::permission_denied;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      kind = ErrorKind::no_space;
      hint = "free some space or choose another folder, then run again";
      break;
    case EISDIR:
      kind = ErrorKind::invalid_argument;
      hint = "name a file";
      break;
    case EMFILE:
    case ENFILE:
      hint = "too many files are open: raise the limit (ulimit -n)";
      break;
    default:
      break;
  }
  return Error({.kind = kind,
                .path = std::move(path),
                .reason = std::string(action) + " failed: " + std::generic_category().message(code),
                .hint = std::move(hint)});
}

std::string printable(std::string_view text) { return one_line(text, Backslashes::escape); }

}  // namespace recordpipe
