// Runs another program: with none of the signals blocked or ignored that this program handles
// (interrupt.h).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace recordpipe {

struct ChildOptions {
  // Descriptors that become standard input, output and error; default: those of this program.
  int input = STDIN_FILENO;
  int output = STDOUT_FILENO;
  int error = STDERR_FILENO;
  char* const* environment = environ;
  // Ctrl-C on a terminal doesn't reach the program.
  bool own_group = false;
};

// Looks for the program in $PATH. Throws Error{io} if it can't be run.
pid_t start_child(std::vector<std::string> command, const ChildOptions& options);

// Waits for the end. Returns the exit status as a shell reports it: 128 + the signal's number for
// a program that was killed.
int wait_for_child(pid_t child);

// Both ends of a pipe, which start_child() doesn't pass on.
class Pipe {
 public:
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read_end() { close_end(0); }
  void close_write_end() { close_end(1); }

 private:
  void close_end(size_t end);

  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace recordpipe
