// Download of a file over http or https: resumable, verified, atomic.
//
// During the download, the data is in TARGET.part (locked), and TARGET.part.meta describes its
// origin. An interrupted download is resumed by the next call with the same URL and target. These
// rules ensure that the parts belong to one file (RFC 9110):
//
// - A part is continued with Range and If-Range (a strong ETag, or a Last-Modified that is at least
//   a minute old). If the server sends neither, it is continued only if the file's SHA-256 is
//   known.
// - A part is extended only by a 206 response whose Content-Range starts at the end of the part,
//   with the known total size and the known ETag.
// - Any other response (200 in place of 206, 416, a mismatch) restarts the download from zero.
// - If the SHA-256 of a file from several parts is wrong, it is downloaded once more in one piece.
//
// Only http and https are supported. A redirect from https to http is an error. Proxies: as in curl
// (http_proxy, https_proxy, all_proxy, no_proxy). Content-Encoding is not decoded: the file is
// saved as the server stores it.
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
  // The expected SHA-256, 64 hexadecimal digits. Default: not checked.
  std::optional<std::string> sha256 = {};
  // The largest accepted file, in bytes (default: 1 GiB), whatever size the server announces.
  uint64_t max_bytes = uint64_t{1} << 30;

  HttpRetryOptions retry = {};

  // Timeouts, redirects, trusted certificates, and the stop token, which ends the download within a
  // fraction of a second.
  HttpClientOptions http = {};

  // Activity "download", in bytes, including those of earlier calls.
  ProgressFunction progress = {};
  // Receives a line for each failed attempt that is retried.
  HttpNotice notice = {};
};

struct DownloadReport {
  uint64_t bytes = 0;         // size of the file
  uint64_t received = 0;      // by this call; more than `bytes` after a restart from zero
  uint64_t resumed_from = 0;  // bytes received by earlier calls
  std::string sha256 = {};    // of the file, also without DownloadOptions::sha256
};

// Downloads `url` to `target`. Replaces an existing file and keeps its permissions. The directory
// must exist.
//
// Throws Error, and `target` is unchanged:
//   invalid_argument   invalid URL or checksum
//   not_found          status 404 or 410, at once
//   permission_denied  status 401, 403 or 407, at once
//   network            the server is unreachable, all attempts failed, the redirect is not allowed,
//                      or another status
//   unsupported        the server sent a web page in place of the file
//   limit_exceeded     more than max_bytes
//   checksum_mismatch  the SHA-256 differs
//   busy               another process downloads to the same target
//   already_exists     TARGET.part or TARGET.part.meta is a symbolic link
//   cancelled          a stop was requested
//   no_space, io, ...  the local file could not be written
// The received bytes stay in TARGET.part, except after checksum_mismatch, limit_exceeded, and a
// server that sent more than it announced (network). Messages contain no user name, password or
// query of a URL.
DownloadReport download(FileSystem& file_system, const std::string& url, const std::string& target,
                        const DownloadOptions& options = {});

}  // namespace recordpipe
