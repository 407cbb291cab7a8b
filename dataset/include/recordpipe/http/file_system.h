// Opens files at http and https URLs through the interface of local files (file.h).
//
// Content-Encoding is not decoded. For redirects, certificates and proxies, see client.h and
// download.h. libcurl is initialised when the first URL is opened.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recordpipe/http/client.h"
#include "recordpipe/http/retry.h"
#include "recordpipe/io/routed_file_system.h"

namespace recordpipe {

struct HttpReadOptions {
  HttpRetryOptions retry = {};
  // Timeouts, redirects, trusted certificates, and the stop token, which ends any wait. Without a
  // token, the end of the pass or the call that has opened a file ends its waits.
  HttpClientOptions http = {};
  // Receives one line for each failed attempt that is retried. Called on the thread that reads or
  // writes, so possibly on several threads at the same time.
  HttpNotice notice = {};
  // For streams: the read-ahead in bytes (default: 4 MiB). A stream takes twice this memory. 0: no
  // read-ahead except for the bytes of one network read, at most 64 KiB.
  size_t read_ahead = size_t{4} << 20;
  // For random access: the smallest and the largest range of a request, in bytes (defaults: 64 KiB,
  // 4 MiB). Sequential reads double the range; a distant read resets it.
  size_t smallest_window = size_t{64} << 10;
  size_t largest_window = size_t{4} << 20;
  // The most requests at a time (default: 128), except those of streams of URLs. A server that is
  // too busy (429, 503) halves it; good answers raise it again, one by one.
  size_t max_requests = 128;
  // For streams of objects (s3://, gs://), which are read in ranges, several at a time: the size of
  // a range (default: 8 MiB; the first one of a file: at most 512 KiB), the most ranges of a stream
  // that are requested or wait to be read (default: 8), and the bytes that all streams of a file
  // system may take so (default: 128 MiB). Each stream may have one range beyond that.
  size_t range_size = size_t{8} << 20;
  size_t ranges_ahead = 8;
  uint64_t bytes_in_flight = uint64_t{128} << 20;
};

// Reads URLs, and forwards all other paths to another FileSystem. Thread-safe if the other
// FileSystem is.
//
//   open_source(url)  Performs one GET, whose body is received ahead. A transfer that was cut off
//                     is resumed with Range and If-Range; Error{network} if the server sends
//                     neither a strong ETag nor a usable Last-Modified, or if the file has changed.
//   open_random(url)  Performs range requests, as many at a time as threads read, read_many()
//                     needs and hint() announces; Error{unsupported} if the server does not support
//                     them. Connections are kept open for later requests, also for other files.
//   status(url)       Returns nullopt for 404 and 410; Error{unsupported} if the server does not
//                     report the size.
//   is_directory(url) Returns false, without a request.
//   map(url), list(url), list_entries(url) and all writes: Error{unsupported}.
// All functions also throw the errors of download(): not_found, permission_denied, network,
// unsupported (a web page), cancelled. Messages do not contain the user name, password or query of
// a URL.
class HttpFileSystem final : public RoutedFileSystem {
 public:
  // `local` must outlive this object, and this object must outlive the files that it opened.
  explicit HttpFileSystem(FileSystem& local, HttpReadOptions options = {});
};

}  // namespace recordpipe
