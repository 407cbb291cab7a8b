#include "recordpipe/http/file_system.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/http/call_options.h"
#include "dataset/http/files/range_request.h"
#include "dataset/http/files/size.h"
#include "dataset/http/files/source.h"
#include "dataset/http/target.h"
#include "dataset/io/windowed_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

Error unsupported(const std::string& url, const std::string& reason, const std::string& hint) {
  return Error({.kind = ErrorKind::unsupported,
                .path = HttpUrl(url).shown(),
                .reason = reason,
                .hint = hint});
}

[[noreturn]] void refuse_to_write(const std::string& url) {
  throw unsupported(url, "can't write to a URL", "name a file on this machine");
}

// The files at URLs only.
class UrlFiles final : public FileSystem {
 public:
  explicit UrlFiles(HttpReadOptions options)
      : options_(std::move(options)),
        client_(std::make_shared<HttpClient>(options_.http, options_.max_requests)) {}

  std::unique_ptr<ByteSource> open_source(const std::string& url) override {
    return std::make_unique<HttpSource>(HttpUrl(url), for_this_call(options_));
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& url) override {
    const HttpReadOptions options = for_this_call(options_);
    const auto ranges = std::make_shared<HttpRanges>(HttpTarget{.url = HttpUrl(url)}, options,
                                                     client_, options.smallest_window);
    auto first = ranges->open();
    return std::make_unique<WindowedFile>(ranges, range_options(options), std::move(first));
  }
  std::unique_ptr<MappedFile> map(const std::string& url) override {
    throw unsupported(url, "a URL can't be mapped into memory", "download the file, then read it");
  }
  bool can_map(const std::string&) override { return false; }
  std::optional<FileStatus> status(const std::string& url) override {
    return status_at({.url = HttpUrl(url)}, for_this_call(options_), *client_);
  }
  std::vector<std::string> list(const std::string& url) override {
    throw unsupported(url, "a URL can't be listed", "name each file");
  }
  bool is_directory(const std::string&) override { return false; }
  std::unique_ptr<OutputFile> create(const std::string& url, CreateMode) override {
    refuse_to_write(url);
  }
  void make_directories(const std::string& url) override { refuse_to_write(url); }
  void rename(const std::string& from, const std::string& to) override {
    refuse_to_write(is_http_url(from) ? from : to);
  }
  void remove(const std::string& url) override { refuse_to_write(url); }
  void remove_empty_directory(const std::string& url) override { refuse_to_write(url); }
  void sync_directory(const std::string& url) override { refuse_to_write(url); }
  std::unique_ptr<FileLock> lock(const std::string& url) override { refuse_to_write(url); }

 private:
  const HttpReadOptions options_;
  const std::shared_ptr<HttpClient> client_;
};

}  // namespace

HttpFileSystem::HttpFileSystem(FileSystem& local, HttpReadOptions options)
    : RoutedFileSystem(local, std::make_shared<UrlFiles>(std::move(options)), is_http_url) {}

}  // namespace recordpipe
