#include "recordpipe/http/file_system.h"

#include <utility>

#include "dataset/http/call_options.h"
#include "dataset/http/files/random_access_file.h"
#include "dataset/http/files/size.h"
#include "dataset/http/files/source.h"
#include "dataset/http/target.h"
#include "recordpipe/base/error.h"
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

}  // namespace

HttpFileSystem::HttpFileSystem(FileSystem& local, HttpReadOptions options)
    : local_(local),
      options_(std::move(options)),
      client_(std::make_shared<HttpClient>(options_.http, options_.max_requests)) {}

std::unique_ptr<ByteSource> HttpFileSystem::open_source(const std::string& path) {
  if (!is_http_url(path)) return local_.open_source(path);
  return std::make_unique<HttpSource>(HttpUrl(path), for_this_call(options_));
}

std::unique_ptr<RandomAccessFile> HttpFileSystem::open_random(const std::string& path) {
  if (!is_http_url(path)) return local_.open_random(path);
  return std::make_unique<HttpRandomAccessFile>(HttpTarget{.url = HttpUrl(path)},
                                                for_this_call(options_), client_);
}

std::unique_ptr<MappedFile> HttpFileSystem::map(const std::string& path) {
  if (!is_http_url(path)) return local_.map(path);
  throw unsupported(path, "a URL can't be mapped into memory", "download the file, then read it");
}

bool HttpFileSystem::can_map(const std::string& path) {
  return !is_http_url(path) && local_.can_map(path);
}

bool HttpFileSystem::reads_ahead(const std::string& path) {
  return !is_http_url(path) && local_.reads_ahead(path);
}

std::unique_ptr<OutputFile> HttpFileSystem::create(const std::string& path, CreateMode mode) {
  refuse_to_write(path);
  return local_.create(path, mode);
}

std::optional<FileStatus> HttpFileSystem::status(const std::string& path) {
  if (!is_http_url(path)) return local_.status(path);
  return status_at({.url = HttpUrl(path)}, for_this_call(options_), *client_);
}

std::string HttpFileSystem::resolve_link(const std::string& path) {
  return is_http_url(path) ? path : local_.resolve_link(path);
}

namespace {

[[noreturn]] void refuse_to_list(const std::string& url) {
  throw unsupported(url, "a URL can't be listed", "name each file");
}

}  // namespace

std::vector<std::string> HttpFileSystem::list(const std::string& directory) {
  if (!is_http_url(directory)) return local_.list(directory);
  refuse_to_list(directory);
}

std::vector<DirectoryEntry> HttpFileSystem::list_entries(const std::string& directory) {
  if (!is_http_url(directory)) return local_.list_entries(directory);
  refuse_to_list(directory);
}

bool HttpFileSystem::is_directory(const std::string& path) {
  return !is_http_url(path) && local_.is_directory(path);
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
