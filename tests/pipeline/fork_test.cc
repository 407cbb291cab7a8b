// A child made by fork() iterates anew, whatever the parent's threads do at the time. Not labelled
// `threads`: ThreadSanitizer doesn't support threads in the child of a process with threads.
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/dataset.h"
#include "recordpipe/error.h"
#include "recordpipe/range.h"

namespace recordpipe {
namespace {

int64_t sum_of(const Dataset<int64_t>& dataset) {
  int64_t sum = 0;
  for (const int64_t value : dataset) sum += value;
  return sum;
}

bool throws_of_fork(Iterator<int64_t>& iterator) {
  try {
    while (iterator.ready() > 0) iterator.next();
    iterator.next();
  } catch (const Error& error) {
    return error.reason().find("before fork()") != std::string::npos;
  }
  return false;
}

TEST(Fork, AChildIteratesAnewWhileTheParentIterates) {
#ifdef RECORDPIPE_SANITIZED
  // The allocator of Clang 14's AddressSanitizer has locks that fork() copies while another thread
  // holds them.
  GTEST_SKIP() << "a sanitizer's allocator can't be used in the child of a process with threads";
#endif
  PipelineOptions options;
  options.threads = 3;
  options.chunk_size = 4;
  const Dataset<int64_t> dataset = range(2000)
                                       .map([](int64_t value) { return value + 1; })
                                       .cache()
                                       .shuffle(16, 7)
                                       .prefetch(2)
                                       .with_options(options);
  const int64_t expected = 2000 * 2001 / 2;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) EXPECT_EQ(sum_of(dataset), expected);
    });
  }
  Iterator<int64_t> inherited = dataset.iterate();
  ASSERT_NE(inherited.next(), nullptr);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // ends a child that hangs
      if (!throws_of_fork(inherited)) _exit(1);
      inherited = dataset.iterate();
      _exit(sum_of(dataset) == expected ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i;
  }
  EXPECT_NE(inherited.next(), nullptr);
}

}  // namespace
}  // namespace recordpipe
