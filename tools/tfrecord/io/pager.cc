#include "tools/tfrecord/io/pager.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

bool started = false;
bool not_found = false;

// Whether a program is in a folder of $PATH.
bool is_installed(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const size_t colon = folders.find(':');
    const std::string file = std::string(folders.substr(0, colon)).append("/").append(name);
    if (::access(file.c_str(), X_OK) == 0) return true;
    if (colon == folders.npos) return false;
    folders.remove_prefix(colon + 1);
  }
}

// The environment with defaults for less and lv, which git sets as well.
class Environment {
 public:
  Environment() {
    for (char** variable = environ; *variable != nullptr; ++variable) all_.emplace_back(*variable);
    add("LESS", "FRX");
    add("LV", "-c");
    for (std::string& each : all_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
  }

  char* const* pointers() const { return pointers_.data(); }

 private:
  void add(const char* name, const char* value) {
    if (std::getenv(name) == nullptr) all_.push_back(std::string(name) + "=" + value);
  }

  std::vector<std::string> all_;
  std::vector<char*> pointers_;
};

// The pager has no signals blocked or ignored that this program handles (interrupt.h).
class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

pid_t spawn(const std::string& command, int input) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  std::string shell = "sh";
  std::string option = "-c";
  std::string line = command;
  const std::array<char*, 4> arguments = {shell.data(), option.data(), line.data(), nullptr};
  pid_t process = -1;
  const Environment environment;
  const SpawnAttributes attributes;
  const int failure = ::posix_spawn(&process, "/bin/sh", &actions, attributes.get(),
                                    arguments.data(), environment.pointers());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw system_error(failure, "start a pager", "/bin/sh");
  return process;
}

}  // namespace

std::string pager_command() {
  const char* const given = std::getenv("PAGER");
  if (given == nullptr) return is_installed("less") ? "less" : "";
  return std::string_view(given) == "cat" ? "" : given;
}

Pager::Pager(const std::string& command) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error(errno, "make a pipe", "");
  try {
    process_ = spawn(command, ends[0]);
  } catch (const Error&) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  started = true;
  ::close(ends[0]);
  standard_output_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[1]);
}

Pager::~Pager() {
  ::dup2(standard_output_, STDOUT_FILENO);
  ::close(standard_output_);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  // The statuses of a shell for a command that isn't there or isn't executable.
  not_found = WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
}

bool Pager::was_started() { return started; }
bool Pager::was_not_found() { return not_found; }

}  // namespace recordpipe
