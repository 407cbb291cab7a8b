// Downloads a file over http or https: resumable, verified, atomic.
//
// During the download, the data is in TARGET.part (locked), and TARGET.part.meta describes its
// origin. An interrupted download is resumed by the next call with the same URL and target. These
// rules ensure that all bytes in TARGET.part come from one file (RFC 9110):
//
// - The download is resumed with Range and If-Range (a strong ETag, or a Last-Modified that is at
//   least a minute old). If the server sends neither, it is resumed only if the file's SHA-256 is
//   known.
// - Bytes are appended only from a 206 response whose Content-Range starts at the end of
//   TARGET.part, with the known total size and the known ETag.
// - Any other response (200 instead of 206, 416, a mismatch) restarts the download from zero.
// - If a file that was joined from several responses has the wrong SHA-256, it is downloaded once
//   more in a single response.
//
// Only http and https are supported. A redirect from https to http is an error. Proxies are
// configured as in curl (http_proxy, https_proxy, all_proxy, no_proxy). Content-Encoding is not
// decoded: the file is saved as the server stores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recordpipe/base/progress.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/retry.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct DownloadOptions {
  // The expected SHA-256, 64 hexadecimal digits. Default: not checked.
  std::optional<std::string> sha256 = {};
  // The largest accepted file, in bytes (default: 1 GiB), regardless of the size that the server
  // announces.
  uint64_t max_bytes = uint64_t{1} << 30;

  HttpRetryOptions retry = {};

  // Timeouts, redirects, trusted certificates, and the stop token, which ends the download within a
  // fraction of a second.
  HttpClientOptions http = {};

  // Reports progress as activity "download"; Progress::done counts the bytes of the file that have
  // arrived, including those of earlier calls.
  ProgressFunction progress = {};
  // Receives one line for each failed attempt that is retried.
  HttpNotice notice = {};
};

struct DownloadReport {
  uint64_t bytes = 0;         // size of the file
  uint64_t received = 0;      // by this call; more than `bytes` after a restart from zero
  uint64_t resumed_from = 0;  // bytes received by earlier calls
  std::string sha256 = {};    // of the file, even without DownloadOptions::sha256
};

// Downloads `url` to `target`. Replaces an existing file and keeps its permissions. The directory
// must exist.
//
// Throws Error and leaves `target` unchanged:
//   invalid_argument   invalid URL or checksum, or `target` is not a regular file
//   not_found          status 404 or 410, at once
//   permission_denied  status 401, 403 or 407, at once
//   network            the server is unreachable, all attempts failed, the redirect is not allowed,
//                      or another status
//   unsupported        the server sent a web page instead of the file
//   limit_exceeded     more than max_bytes
//   checksum_mismatch  the SHA-256 differs
//   busy               another process is downloading to the same target
//   already_exists     TARGET.part or TARGET.part.meta is a symbolic link
//   cancelled          a stop was requested
//   no_space, io, ...  the local file could not be written
// The received bytes stay in TARGET.part, except after checksum_mismatch, after limit_exceeded, and
// if the server sent more than it announced (network). Messages do not contain the user name,
// password or query of a URL.
DownloadReport download(FileSystem& file_system, const std::string& url, const std::string& target,
                        const DownloadOptions& options = {});

}  // namespace recordpipe
