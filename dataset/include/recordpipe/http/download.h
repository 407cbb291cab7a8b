// Downloads a file over http or https: in resumable parts, checked, whole under its name or not at
// all.
//
// While it arrives it is TARGET.part, locked; TARGET.part.meta beside it says what it is a part of.
// A download that ends early, however it ends, is gone on with by the next call for the same URL
// and target. How the two calls, and the attempts within one, make sure that they piece together
// one file (RFC 9110):
//
// - a part is continued with Range and If-Range (a strong ETag, or a Last-Modified old enough to be
//   trusted), or, where the server gives neither, only if the file's SHA-256 is known;
// - it grows only by a 206 whose Content-Range starts where the part ends, names the total that is
//   known, and carries no other ETag;
// - a 200 in place of the 206, a 416 and whatever doesn't fit start from zero;
// - a file pieced together that then has the wrong SHA-256 is fetched once more in one piece.
//
// Nothing is fetched but http and https. An https URL is never left for http, not by any redirect;
// an http URL is fetched as it says. Proxies are curl's: http_proxy, https_proxy, all_proxy,
// no_proxy. No Content-Encoding is undone: what is saved is what the server stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/retry.h"
#include "recordpipe/progress.h"

namespace recordpipe {

struct DownloadOptions {
  // What the file must be, as 64 hexadecimal digits. Nothing: any file is taken.
  std::optional<std::string> sha256 = {};
  // More than this is refused, whatever the server announces.
  uint64_t max_bytes = uint64_t{1} << 30;

  HttpRetryOptions retry = {};

  // Time limits, redirects, trusted certificates, and the token that stops the download within a
  // fraction of a second.
  HttpClientOptions http = {};

  // "download", with the bytes there are, those of earlier runs included.
  ProgressFunction progress = {};
  HttpNotice notice = {};
};

struct DownloadReport {
  uint64_t bytes = 0;         // of the file
  uint64_t received = 0;      // by this call; more than `bytes` if it had to start from zero
  uint64_t resumed_from = 0;  // bytes that an earlier run had left
  std::string sha256 = {};    // of the file: what it is, whether or not it was asked for
};

// Downloads `url` and gives it the name `target`, replacing what is there, whose permissions it
// keeps. The folder must exist.
//
// Throws Error, and then there is no new `target`:
//   invalid_argument   the URL, or the checksum given, is none
//   not_found          404, 410                 } at once; other statuses that are not worth
//   permission_denied  401, 403, 407            } another attempt: network
//   network            the server could not be reached, the attempts are used up, a redirect is
//                      refused
//   unsupported        a web page came in place of a file
//   limit_exceeded     more than max_bytes
//   checksum_mismatch  another file than the one asked for; TARGET.part is removed
//   busy               another process downloads to the same target
//   already_exists     TARGET.part or TARGET.part.meta is a symbolic link
//   cancelled          stopped
//   no_space, io, ...  the disk
// What has arrived stays in TARGET.part, but after checksum_mismatch, after limit_exceeded and
// after a server sent more than it announced (network): then it is removed. Messages hold no user
// names, passwords and queries of URLs.
DownloadReport download(FileSystem& file_system, const std::string& url, const std::string& target,
                        const DownloadOptions& options = {});

}  // namespace recordpipe
