// The misbehaving HTTP server of http_server.py, for the life of a test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "tests/support/temporary_directory.h"

namespace recordpipe {

class HttpServer {
 public:
  enum class Tls { no, yes };

  // Serves the files of a new folder at 127.0.0.1, and with Tls::yes over https too.
  explicit HttpServer(Tls tls = Tls::no);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // What GET /NAME answers with from now on.
  void put(const std::string& name, std::string_view content);
  // What goes wrong from now on with URLs that have no query of their own, "cut=1000&times=1" for
  // one, "" for nothing; http_server.py has the list.
  void misbehave(const std::string& how);

  // "http://127.0.0.1:PORT" + what, what being "/NAME?MISBEHAVIOUR".
  std::string http(const std::string& what) const;
  std::string https(const std::string& what) const;
  // The certificate that a client must trust for https.
  std::string ca_file() const;

  struct Request {
    std::string url;  // from the path on
    int status = 0;   // of the answer; 0 where none was given
    std::optional<std::string> range = {};
    std::optional<std::string> if_range = {};
    std::optional<std::string> authorization = {};
    std::optional<std::string> accept_encoding = {};
  };
  // All so far. A request is here before its answer is sent.
  std::vector<Request> requests() const;

 private:
  TemporaryDirectory folder_;
  pid_t process_ = -1;
  int keep_alive_ = -1;  // the server ends when this pipe closes
  int orders_ = 0;
  int port_ = 0;
  int tls_port_ = 0;
};

}  // namespace recordpipe
