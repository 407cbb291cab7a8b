// Lets threads train together like processes, for all tests that don't need MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "recordpipe/trainer/backend/replicated/communicator.h"

namespace recordpipe {

// Adds values in the order of the ranks.
class ThreadCommunicator final : public Communicator {
 public:
  // Shared by the threads.
  struct Group {
    explicit Group(size_t size) : barrier(static_cast<ptrdiff_t>(size)), data(size) {}
    std::barrier<> barrier;
    std::vector<void*> data;  // of the current call, one per rank
  };
  ThreadCommunicator(Group& group, size_t rank) : group_(group), rank_(rank) {}

  size_t rank() const override { return rank_; }
  size_t size() const override { return group_.data.size(); }
  void all_reduce_sum(std::span<float> values) override { sum(values); }
  void all_reduce_sum(std::span<double> values) override { sum(values); }
  void broadcast(std::span<std::byte> bytes) override {
    publish(bytes.data());
    if (rank_ != 0)
      std::copy_n(static_cast<std::byte*>(group_.data[0]), bytes.size(), bytes.data());
    wait();
  }

 private:
  void wait() { group_.barrier.arrive_and_wait(); }
  void publish(void* data) {
    group_.data[rank_] = data;
    wait();
  }

  template <class T>
  void sum(std::span<T> values) {
    publish(values.data());
    std::vector<T> sums(values.size());
    for (void* data : group_.data)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<T*>(data)[i];
    wait();
    std::ranges::copy(sums, values.begin());
  }

  Group& group_;
  const size_t rank_;
};

// Runs `work` in `size` threads, each with its own communicator.
inline void in_threads(size_t size, const std::function<void(Communicator&)>& work) {
  ThreadCommunicator::Group group(size);
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(group, rank);
      work(communicator);
    });
}

}  // namespace recordpipe
