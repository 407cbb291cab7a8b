// Runs the misbehaving HTTP server of http_server.py for the duration of a test.
#pragma once

#include <istream>
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

  // Serves the files of a new folder at 127.0.0.1; with Tls::yes, also over https.
  explicit HttpServer(Tls tls = Tls::no);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Sets the content of GET /NAME, which may have slashes.
  void put(const std::string& name, std::string_view content);
  // Sets the misbehaviour for URLs without a query: for example "cut=1000&times=1", "" for none;
  // http_server.py has the list.
  void misbehave(const std::string& how);

  // "http://127.0.0.1:PORT" + what, for example "/NAME?MISBEHAVIOUR".
  std::string http(const std::string& what) const;
  std::string https(const std::string& what) const;
  // The certificate that a client must trust for https.
  std::string ca_file() const;

  struct Request {
    std::string url;  // beginning with the path
    int status = 0;   // of the answer; 0 if there was none
    std::optional<std::string> range = {};
    std::optional<std::string> if_range = {};
    std::optional<std::string> authorization = {};
    std::optional<std::string> accept_encoding = {};
  };
  // All requests so far. A request is recorded before its answer is sent.
  std::vector<Request> requests() const;
  // Parses the server's log: a JSON object per line. A last line without '\n' is left out: a write
  // across two pages isn't atomic for readers.
  static std::vector<Request> parse_log(std::istream& log);

 private:
  TemporaryDirectory folder_;
  pid_t process_ = -1;
  int keep_alive_ = -1;  // the server ends when this pipe is closed
  int orders_ = 0;
  int port_ = 0;
  int tls_port_ = 0;
};

}  // namespace recordpipe
