// Test fixture for reading URLs: a server with a file, and options with short timeouts.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/http/file_system.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/http_server.h"

namespace recordpipe {

class HttpReadingTest : public testing::Test {
 protected:
  HttpReadingTest() {
    ::setenv("no_proxy", "*", 1);  // don't use the machine's proxy
    options.retry = {.retries = 3,
                     .first_delay = std::chrono::milliseconds(1),
                     .longest_delay = std::chrono::milliseconds(4)};
    server.put("a", content);
  }

  static std::string noise(size_t size, uint64_t seed = 1) {
    std::string bytes;
    Random random(seed, 0, 0);
    while (bytes.size() < size) bytes += static_cast<char>(random());
    return bytes;
  }

  HttpFileSystem files() const { return HttpFileSystem(posix_file_system(), options); }

  // Returns the range of each request so far; "" for a request without a range.
  std::vector<std::string> ranges() const {
    std::vector<std::string> all;
    for (const HttpServer::Request& request : server.requests()) {
      all.push_back(request.range.value_or(""));
    }
    return all;
  }

  std::string content = noise(3000);
  HttpServer server;
  HttpReadOptions options;
};

}  // namespace recordpipe
