#include "dataset/parallel/service_thread.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>

#include "dataset/parallel/task_context.h"

namespace recordpipe::parallel {
namespace {

std::string name_of_this_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

TEST(ServiceThread, HasItsNameAndTheContextOfItsMaker) {
  const auto owner = std::make_shared<const internal::WorkOwner>(nullptr);
  const TaskContextScope scope({owner, {}});
  std::string name;
  std::shared_ptr<const internal::WorkOwner> its_owner;
  ServiceThread thread("rp-test", [&](const std::stop_token&) {
    name = name_of_this_thread();
    its_owner = TaskContext::current().owner;
  });
  thread.join();
  EXPECT_EQ(name, "rp-test");
  EXPECT_EQ(its_owner, owner);
}

TEST(ServiceThread, TheDestructorRequestsAStopAndJoins) {
  bool has_ended = false;
  {
    const ServiceThread thread("rp-test", [&](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      changed.wait(lock, stop, [] { return false; });
      has_ended = true;
    });
  }
  EXPECT_TRUE(has_ended);
}

TEST(ServiceThread, ADetachedOneHasNoContext) {
  const auto owner = std::make_shared<const internal::WorkOwner>(nullptr);
  const TaskContextScope scope({owner, {}});
  std::promise<std::shared_ptr<const internal::WorkOwner>> seen;
  ServiceThread::start_detached("rp-test", [&] { seen.set_value(TaskContext::current().owner); });
  EXPECT_EQ(seen.get_future().get(), nullptr);
}

}  // namespace
}  // namespace recordpipe::parallel
