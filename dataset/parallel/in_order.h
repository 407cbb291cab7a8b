// Work on the elements of a sequence, in parallel, with the results in the order of the elements.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "dataset/parallel/jobs.h"

namespace recordpipe::parallel {

// Limit on the total size of inputs in flight, in bytes; further inputs wait.
inline constexpr size_t kMaxInFlight = size_t{8} << 20;

struct InOrderOptions {
  size_t threads = 1;  // at most; the calling thread among them
  CrewKind kind = CrewKind::computes;
};

// Calls consume(work(input)) for each input that next() returns, until next() returns std::nullopt.
// next() and consume() run on the calling thread, in order; work() runs on any thread. At most
// 2 * threads + 1 inputs are between next() and consume() at a time. The first exception, in the
// order of the inputs, is thrown after all running work has ended; an exception from next() is
// thrown after all earlier inputs were consumed.
//
// For large inputs: if `size` is given, next() is not called while the sizes of the inputs in
// flight add up to kMaxInFlight or more.
template <typename Input, typename Output>
void in_order(const InOrderOptions& options, const std::function<std::optional<Input>()>& next,
              const std::function<Output(Input)>& work, const std::function<void(Output)>& consume,
              const std::function<size_t(const Input&)>& size = nullptr) {
  struct InFlight {
    Job<Output> result;
    size_t size;
  };
  std::deque<InFlight> in_flight;
  size_t bytes = 0;  // total size of the inputs in flight
  std::exception_ptr input_error;
  bool more = true;
  Jobs jobs(options.threads, options.kind);  // last: ends before its jobs' data is destroyed

  const auto begin_job = [&] {
    try {
      std::optional<Input> input = next();
      more = input.has_value();
      if (!more) return;
      const size_t input_size = size ? size(*input) : 0;
      in_flight.push_back({jobs.submit([&work, input = *std::move(input)]() mutable {
                             return work(std::move(input));
                           }),
                           input_size});
      bytes += input_size;
    } catch (...) {
      input_error = std::current_exception();
      more = false;
    }
  };
  while (true) {
    while (more && in_flight.size() < 2 * options.threads + 1 &&
           (in_flight.empty() || bytes < kMaxInFlight)) {
      begin_job();
    }
    if (in_flight.empty()) break;
    InFlight first = std::move(in_flight.front());
    in_flight.pop_front();
    Output output = first.result.get();
    bytes -= first.size;
    consume(std::move(output));
  }
  if (input_error) std::rethrow_exception(input_error);
}

}  // namespace recordpipe::parallel
