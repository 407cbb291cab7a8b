// Test fixture for downloads: a server, a download folder, and options with short timeouts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/http/download.h"
#include "recordpipe/io/sha256.h"
#include "tests/support/bytes.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {

// Returns a fake archive: gzip's first bytes, then noise.
inline std::string archive(size_t size, uint64_t seed = 1) {
  std::string content = "\x1f\x8b";
  Random random(seed, 0, 0);
  while (content.size() < size) content += static_cast<char>(random());
  content.resize(size);
  return content;
}

inline std::string sha256_of(std::string_view content) {
  Sha256 hash;
  hash.update(as_bytes(content));
  return hash.hex();
}

class HttpDownloadTest : public testing::Test {
 protected:
  explicit HttpDownloadTest(HttpServer::Tls tls = HttpServer::Tls::no) : server(tls) {
    ::setenv("no_proxy", "*", 1);  // don't use the machine's proxy
    options.retry.retries = 3;
    options.retry.first_delay = std::chrono::milliseconds(1);
    options.retry.longest_delay = std::chrono::milliseconds(4);
    server.put("a.tar.gz", content);
  }

  DownloadReport get(const std::string& what) {
    return download(posix_file_system(), server.http(what), target, options);
  }

  // Returns the error of downloading `url`.
  Error error_of(const std::string& url) {
    try {
      download(posix_file_system(), url, target, options);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error from " << url;
    return Error({});
  }
  Error error_from(const std::string& what) { return error_of(server.http(what)); }

  // Leaves the first `size` bytes of /a.tar.gz as the partial file of an interrupted run.
  void leave_part(size_t size, const std::string& headers = "") {
    const int retries = std::exchange(options.retry.retries, 0);
    server.misbehave("cut=" + std::to_string(size) + headers);
    const Error error = error_from("/a.tar.gz");
    EXPECT_EQ(error.kind(), ErrorKind::network) << error.what();
    if (size > 0) {
      ASSERT_TRUE(std::filesystem::exists(part)) << error.what();
      EXPECT_EQ(read_file(part), content.substr(0, size)) << error.what();
    }
    server.misbehave("");
    options.retry.retries = retries;
  }

  void expect_only(std::string_view name) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      names.push_back(entry.path().filename());
    }
    EXPECT_THAT(names, testing::ElementsAre(std::string(name)));
  }
  void expect_nothing_left() { EXPECT_TRUE(std::filesystem::is_empty(folder.path())); }

  std::string content = archive(3000);
  HttpServer server;
  TemporaryDirectory folder;
  const std::string target = folder / "a.tar.gz";
  const std::string part = target + ".part";
  DownloadOptions options;
};

}  // namespace recordpipe
