// Files at http and https URLs, read through the same seam as those on the disk.
//
// What is read is what the server stores: no Content-Encoding is undone. Redirects, certificates
// and proxies are as for downloads (client.h, download.h); libcurl is first touched when
// a URL is opened.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/http/client.h"
#include "recordpipe/http/retry.h"

namespace recordpipe {

struct HttpReadOptions {
  HttpRetryOptions retry = {};
  // Time limits, redirects, trusted certificates, and the token that stops any wait.
  HttpClientOptions http = {};
  HttpNotice notice = {};
  // Of a stream: how much of it may have arrived before it is read. It takes twice that memory.
  size_t read_ahead = size_t{4} << 20;
  // Of random access: a request asks for so much, at least (HttpRandomAccessFile).
  size_t smallest_window = size_t{64} << 10;
  size_t largest_window = size_t{4} << 20;
};

// Reads URLs; whatever isn't one goes to another FileSystem. As safe to use from several threads as
// that one.
//
// open_source(url): one GET, read ahead by a thread of its own. A transfer that is cut goes on
// where it was (Range with If-Range): where the server gives neither a strong ETag nor a
// Last-Modified to go by, that is an error, and so is a file that changed meanwhile.
// open_random(url): a request for each place that is read, see HttpRandomAccessFile; needs a server
// that sends parts of files.
// status(url): nothing for 404 and 410; Error{unsupported} where the server doesn't tell the size.
// map(url), list(url) and whatever writes: Error{unsupported}.
// All of them throw the same as download() does: not_found, permission_denied, network, unsupported
// (a web page), cancelled. Messages hold no user names, passwords and queries of URLs.
class HttpFileSystem final : public FileSystem {
 public:
  // `local` must outlive this, and this what it opens.
  explicit HttpFileSystem(FileSystem& local, HttpReadOptions options = {});

  std::unique_ptr<ByteSource> open_source(const std::string& path) override;
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override;
  std::unique_ptr<MappedFile> map(const std::string& path) override;
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override;
  std::optional<FileStatus> status(const std::string& path) override;
  std::string resolve_link(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_empty_directory(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  std::unique_ptr<FileLock> lock(const std::string& path) override;

 private:
  FileSystem& local_;
  const HttpReadOptions options_;
};

}  // namespace recordpipe
