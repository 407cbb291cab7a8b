#include "tests/support/http_server.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recordpipe {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

// Makes a pipe that other programs don't inherit: the server must see the end of its standard
// input.
Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {ends[0], ends[1]};
}

}  // namespace

HttpServer::HttpServer(Tls tls) {
  std::filesystem::create_directory(folder_ / "files");
  const std::string script = RECORDPIPE_SOURCE_DIR "/tests/support/http_server.py";
  std::vector<std::string> arguments{RECORDPIPE_TEST_PYTHON, script, folder_.path()};
  if (tls == Tls::yes) arguments.push_back("--tls");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const Pipe input = make_pipe();
  const Pipe output = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
  const int error = posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input.read);
  close(output.write);
  keep_alive_ = input.write;
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);

  FILE* out = fdopen(output.read, "r");
  char line[64] = "";
  const bool started = std::fgets(line, sizeof line, out) != nullptr;
  std::fclose(out);
  const int count = started ? std::sscanf(line, "%d %d", &port_, &tls_port_) : 0;
  if (count != (tls == Tls::yes ? 2 : 1)) throw std::runtime_error("http_server.py did not start");
}

HttpServer::~HttpServer() {
  close(keep_alive_);
  int status = 0;
  waitpid(process_, &status, 0);
}

void HttpServer::put(const std::string& name, std::string_view content) {
  const std::string path = folder_ / ("files/" + name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_file(path, content);
}

void HttpServer::misbehave(const std::string& how) {
  // Writes a new file, then renames it: the server never reads an incomplete order.
  write_file(folder_ / "misbehaviour.new", std::to_string(++orders_) + "\n" + how);
  std::filesystem::rename(folder_ / "misbehaviour.new", folder_ / "misbehaviour");
}

std::string HttpServer::http(const std::string& what) const {
  return "http://127.0.0.1:" + std::to_string(port_) + what;
}

std::string HttpServer::https(const std::string& what) const {
  return "https://127.0.0.1:" + std::to_string(tls_port_) + what;
}

std::string HttpServer::ca_file() const { return folder_ / "cert.pem"; }

std::vector<HttpServer::Request> HttpServer::requests() const {
  std::ifstream log(folder_ / "log");
  return parse_log(log);
}

std::vector<HttpServer::Request> HttpServer::parse_log(std::istream& log) {
  std::vector<Request> requests;
  for (std::string line; std::getline(log, line) && !log.eof();) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    const nlohmann::json& headers = entry.at("headers");
    const auto header = [&](const char* name) {
      return headers.contains(name) ? std::optional<std::string>(headers[name]) : std::nullopt;
    };
    requests.push_back({.url = entry.at("url"),
                        .status = entry.at("status"),
                        .range = header("Range"),
                        .if_range = header("If-Range"),
                        .authorization = header("Authorization"),
                        .accept_encoding = header("Accept-Encoding")});
  }
  return requests;
}

}  // namespace recordpipe
