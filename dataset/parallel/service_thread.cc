#include "dataset/parallel/service_thread.h"

#include <string>
#include <system_error>
#include <utility>

#include "dataset/parallel/task_context.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork_block.h"

namespace recordpipe::parallel {
namespace {

std::jthread start(const char* name, TaskContext context,
                   std::function<void(std::stop_token)> function) {
  try {
    const internal::ForkBlock no_fork;
    return std::jthread([name, function = std::move(function),
                         context = std::move(context)](std::stop_token stop) mutable {
      ::pthread_setname_np(::pthread_self(), name);
      const TaskContextScope scope(std::move(context));
      std::exchange(function, nullptr)(std::move(stop));
    });
  } catch (const std::system_error& error) {
    throw system_error(error.code().value(), "start the thread " + std::string(name), {});
  }
}

}  // namespace

ServiceThread::ServiceThread(const char* name, std::function<void(std::stop_token)> function)
    : thread_(start(name, TaskContext::current(), std::move(function))) {}

void ServiceThread::start_detached(const char* name, std::function<void()> function) {
  start(name, {}, [function = std::move(function)](const std::stop_token&) mutable {
    std::exchange(function, nullptr)();
  }).detach();
}

}  // namespace recordpipe::parallel
