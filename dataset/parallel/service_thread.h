// The threads that don't compute: each serves one object, and waits most of the time.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

#include <pthread.h>

namespace recordpipe::parallel {

// A thread that waits for something: signals, a file to be read ahead, events to be written. It
// inherits the context of the thread that starts it (task_context.h). ps(1), debuggers and
// profilers show its name.
class ServiceThread {
 public:
  ServiceThread() = default;  // no thread
  // Starts a thread that calls function(stop token). Exceptions that leave it end the process.
  // `name`: at most 15 bytes. Throws Error{io} if the system has no more threads.
  ServiceThread(const char* name, std::function<void(std::stop_token)> function);
  // Requests a stop, and joins.
  ~ServiceThread() = default;
  ServiceThread(ServiceThread&&) = default;
  ServiceThread& operator=(ServiceThread&&) = default;

  bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }
  pthread_t native_handle() { return thread_.native_handle(); }

  // Starts a thread that nobody waits for: it ends by itself, or with the process. It inherits no
  // context, because no pass waits for it. Throws like the constructor.
  static void start_detached(const char* name, std::function<void()> function);

 private:
  std::jthread thread_;
};

}  // namespace recordpipe::parallel
