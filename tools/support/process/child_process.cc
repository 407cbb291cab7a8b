#include "tools/support/process/child_process.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

class SpawnAttributes {
 public:
  explicit SpawnAttributes(bool own_group) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (own_group) {
      sigaddset(&signals, SIGINT);  // which this program sends it
      flags |= POSIX_SPAWN_SETPGROUP;
    }
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, flags);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

}  // namespace

pid_t start_child(std::vector<std::string> command, const ChildOptions& options) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, options.input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, options.output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, options.error, STDERR_FILENO);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = -1;
  const SpawnAttributes attributes(options.own_group);
  const int failure = ::posix_spawnp(&child, words.front(), &actions, attributes.get(),
                                     words.data(), options.environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw system_error(failure, "run", std::move(command.front()));
  return child;
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Pipe::Pipe() {
  if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw system_error(errno, "make a pipe", "");
}

Pipe::~Pipe() {
  close_read_end();
  close_write_end();
}

void Pipe::close_end(size_t end) {
  if (ends_[end] >= 0) ::close(ends_[end]);
  ends_[end] = -1;
}

}  // namespace recordpipe
