// Work on several threads whose results come out in the order of the input.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "dataset/toolkit/job_threads.h"

namespace recordpipe {

// What inputs on their way may be together, in bytes, before others wait.
inline constexpr size_t kMostOnTheirWay = size_t{8} << 20;

// Calls consume(work(input)) for each input that next() gives until it gives none. next() and
// consume() run on the calling thread, in order; work() runs on `threads` others, at most
// 2 * threads + 1 inputs at a time between next() and consume(). The first exception, in the order
// of the inputs, comes out when all that was begun is over: what next() throws, after everything
// before it was consumed.
//
// Inputs may be large: where size(input) is given, nothing is taken from next() while those on
// their way are together kMostOnTheirWay or more.
template <typename Input, typename Output>
void parallel_in_order(size_t threads, const std::function<std::optional<Input>()>& next,
                       const std::function<Output(Input)>& work,
                       const std::function<void(Output)>& consume,
                       const std::function<size_t(const Input&)>& size = nullptr) {
  struct InFlight {
    JobResult<Output> result;
    size_t size;
  };
  std::deque<InFlight> in_flight;
  size_t on_their_way = 0;  // the sizes of those in flight
  std::exception_ptr input_error;
  bool more = true;
  JobThreads workers(threads);  // last: joined before what jobs use is gone

  const auto begin_job = [&] {
    try {
      std::optional<Input> input = next();
      more = input.has_value();
      if (!more) return;
      const size_t its_size = size ? size(*input) : 0;
      in_flight.push_back({workers.submit([&work, input = *std::move(input)]() mutable {
                             return work(std::move(input));
                           }),
                           its_size});
      on_their_way += its_size;
    } catch (...) {
      input_error = std::current_exception();
      more = false;
    }
  };
  while (true) {
    while (more && in_flight.size() < 2 * threads + 1 &&
           (in_flight.empty() || on_their_way < kMostOnTheirWay)) {
      begin_job();
    }
    if (in_flight.empty()) break;
    InFlight first = std::move(in_flight.front());
    in_flight.pop_front();
    Output output = first.result.get();
    on_their_way -= first.size;
    consume(std::move(output));
  }
  if (input_error) std::rethrow_exception(input_error);
}

}  // namespace recordpipe
