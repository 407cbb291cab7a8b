// Calls a function on a thread of its own, for which the caller needn't wait.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <nanobind/nanobind.h>

#include "dataset/parallel/service_thread.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"

namespace recordpipe::python {

// A function in Python can't be stopped: after a stop request, its thread is left alone, and what
// it returns is dropped.
template <class Result>
class AbandonableCall {
 public:
  // `function` owns what it uses. It throws std::exceptions.
  template <class Function>
  explicit AbandonableCall(Function function) : state_(std::make_shared<State>()) {
    parallel::ServiceThread::start_detached("rp-python",
                                            [function = std::move(function), state = state_] {
                                              std::optional<Result> result;
                                              std::exception_ptr error;
                                              try {
                                                result.emplace(function());
                                              } catch (const std::exception&) {
                                                error = std::current_exception();
                                              }
                                              const std::lock_guard lock(state->mutex);
                                              state->result = std::move(result);
                                              state->error = std::move(error);
                                              state->has_ended = true;
                                              state->ended.notify_all();
                                            });
  }

  // Returns the result, at each call, or throws what the function has thrown; Error{cancelled}
  // after a stop request. On any thread, with or without the GIL.
  Result& wait(const std::stop_token& stop) const {
    std::optional<GilRelease> no_gil;
    if (holds_gil()) no_gil.emplace();
    std::unique_lock lock(state_->mutex);
    if (!state_->ended.wait(lock, stop, [this] { return state_->has_ended; })) throw_cancelled();
    if (state_->error) std::rethrow_exception(state_->error);
    return *state_->result;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable_any ended;
    bool has_ended = false;
    std::optional<Result> result;
    std::exception_ptr error;
  };

  std::shared_ptr<State> state_;
};

}  // namespace recordpipe::python
