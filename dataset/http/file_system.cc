#include "recordpipe/http/file_system.h"

#include <utility>

#include "dataset/http/client_pool.h"
#include "dataset/http/headers.h"
#include "dataset/http/random_access_file.h"
#include "dataset/http/source.h"
#include "dataset/http/status.h"
#include "recordpipe/error.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

Error unsupported(const std::string& url, const std::string& reason, const std::string& hint) {
  return Error({.kind = ErrorKind::unsupported,
                .path = HttpUrl(url).shown(),
                .reason = reason,
                .hint = hint});
}

void refuse_to_write(const std::string& path) {
  if (is_http_url(path)) {
    throw unsupported(path, "can't write to a URL", "name a file on this machine");
  }
}

// Returns the size of the file, from the response to a request for its first byte.
uint64_t size_of(const HttpResponse& response) {
  if (response.status != 200 && response.status != 206 && response.status != 416) {
    refuse_status(response);
  }
  if (is_html_type(response.content_type) && response.status != 416) refuse_web_page(response.url);
  const auto range = parse_content_range(response.content_range);
  const std::optional<uint64_t> size = response.status == 200 ? response.content_length
                                       : range                ? range->total
                                                              : std::nullopt;
  if (size) return *size;
  throw Error({.kind = ErrorKind::unsupported,
               .path = response.url.shown(),
               .reason = "the server does not report the file's size",
               .hint = "download the file, then read it"});
}

uint64_t size_at(const HttpUrl& url, const HttpReadOptions& options, HttpClientPool& clients) {
  HttpRetry retry(options.retry, options.http.stop, options.notice);
  uint64_t size = 0;
  const HttpHandler handler{.on_response =
                                [&](const HttpResponse& response) {
                                  retry.answered();
                                  size = size_of(response);
                                  return false;
                                },
                            .on_body = [](std::span<const std::byte>) {},
                            .on_tick = [] {}};
  while (true) {
    try {
      clients.get(url, {"Accept-Encoding: identity", "Range: bytes=0-0"}, handler);
      return size;
    } catch (const TransientError& error) {
      retry.wait_after(error);
    }
  }
}

}  // namespace

HttpFileSystem::HttpFileSystem(FileSystem& local, HttpReadOptions options)
    : local_(local),
      options_(std::move(options)),
      clients_(std::make_shared<HttpClientPool>(options_.http)) {}

std::unique_ptr<ByteSource> HttpFileSystem::open_source(const std::string& path) {
  if (!is_http_url(path)) return local_.open_source(path);
  return std::make_unique<HttpSource>(path, options_);
}

std::unique_ptr<RandomAccessFile> HttpFileSystem::open_random(const std::string& path) {
  if (!is_http_url(path)) return local_.open_random(path);
  return std::make_unique<HttpRandomAccessFile>(path, options_, clients_);
}

std::unique_ptr<MappedFile> HttpFileSystem::map(const std::string& path) {
  if (!is_http_url(path)) return local_.map(path);
  throw unsupported(path, "a URL can't be mapped into memory", "download the file, then read it");
}

std::unique_ptr<OutputFile> HttpFileSystem::create(const std::string& path, CreateMode mode) {
  refuse_to_write(path);
  return local_.create(path, mode);
}

std::optional<FileStatus> HttpFileSystem::status(const std::string& path) {
  if (!is_http_url(path)) return local_.status(path);
  try {
    return FileStatus{FileKind::regular, size_at(HttpUrl(path), options_, *clients_)};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_found) return std::nullopt;
    throw;
  }
}

std::string HttpFileSystem::resolve_link(const std::string& path) {
  return is_http_url(path) ? path : local_.resolve_link(path);
}

std::vector<std::string> HttpFileSystem::list(const std::string& directory) {
  if (!is_http_url(directory)) return local_.list(directory);
  throw unsupported(directory, "a URL can't be listed", "name each file");
}

void HttpFileSystem::make_directories(const std::string& path) {
  refuse_to_write(path);
  local_.make_directories(path);
}

void HttpFileSystem::rename(const std::string& from, const std::string& to) {
  refuse_to_write(from);
  refuse_to_write(to);
  local_.rename(from, to);
}

void HttpFileSystem::remove(const std::string& path) {
  refuse_to_write(path);
  local_.remove(path);
}

void HttpFileSystem::remove_empty_directory(const std::string& path) {
  refuse_to_write(path);
  local_.remove_empty_directory(path);
}

void HttpFileSystem::sync_directory(const std::string& path) {
  refuse_to_write(path);
  local_.sync_directory(path);
}

std::unique_ptr<FileLock> HttpFileSystem::lock(const std::string& path) {
  refuse_to_write(path);
  return local_.lock(path);
}

}  // namespace recordpipe
