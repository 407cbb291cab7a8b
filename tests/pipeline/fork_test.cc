// A child made by fork() iterates anew, whatever the parent's threads do at the time. Not labelled
// `threads`: ThreadSanitizer doesn't support threads in the child of a process with threads.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "tests/support/framed_records.h"
#include "tests/support/single_file_system.h"

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

// Its files are opened ahead, as those of an object store; each takes a while.
class SlowStore final : public SingleFileSystem {
 public:
  using SingleFileSystem::SingleFileSystem;
  bool can_map(const std::string&) override { return false; }
  bool reads_ahead(const std::string&) override { return true; }
  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return SingleFileSystem::open_source(path);
  }
};

TEST(Fork, WhileFilesAreOpenedAhead) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "a sanitizer's allocator can't be used in the child of a process with threads";
#endif
  const auto store = std::make_shared<SlowStore>(framed({"a", "bc"}));
  std::vector<std::string> paths;
  for (int i = 0; i < 200; ++i) paths.push_back("store://" + std::to_string(i));
  const auto sizes = listed_tfrecord_files(store, paths).map([](const Record& record) {
    return static_cast<int64_t>(record.data.size());
  });
  Iterator<int64_t> parents = sizes.iterate();
  int64_t sum = 0;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 5; ++j) {
      const int64_t* const size = parents.next();
      ASSERT_NE(size, nullptr);
      sum += *size;
    }
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // ends a child that hangs
      _exit(sum_of(sizes) == 600 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i;
  }
  while (const int64_t* const size = parents.next()) sum += *size;
  EXPECT_EQ(sum, 600);
}

}  // namespace
}  // namespace recordpipe
