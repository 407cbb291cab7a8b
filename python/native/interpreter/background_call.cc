#include "python/native/interpreter/background_call.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "dataset/parallel/service_thread.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

constexpr std::chrono::milliseconds kPoll(100);

}  // namespace

struct BackgroundCall::State {
  void note(bool& event) {
    const std::lock_guard lock(mutex);
    event = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool has_returned = false;
  bool has_signal = false;
  parallel::ServiceThread thread;
};

BackgroundCall::BackgroundCall(std::function<void()> function) : state_(new State) {
  state_->thread = parallel::ServiceThread(
      "rp-call", [state = state_.get(), function = std::move(function)](const std::stop_token&) {
        function();
        state->note(state->has_returned);
      });
}

BackgroundCall::~BackgroundCall() { join(); }

void BackgroundCall::wait() {
  while (true) {
    const InterruptScope scope([state = state_.get()] { state->note(state->has_signal); });
    // A signal that came before the scope is noticed here, and within kPoll one that nothing
    // tells: Python's own handler, where the system had called it on another thread just before
    // the scope put ours in front of it, or the handler of a signal that the scope doesn't watch.
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    maker_.require_this("the thread that is waited for");
    const GilRelease no_gil;
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, kPoll,
                             [this] { return state_->has_returned || state_->has_signal; });
    state_->has_signal = false;
    if (state_->has_returned) return;
  }
}

void BackgroundCall::join() {
  if (!is_inherited() && state_->thread.joinable()) state_->thread.join();
}

bool BackgroundCall::has_returned() const {
  const std::lock_guard lock(state_->mutex);
  return state_->has_returned;
}

void call_in_background(const std::function<void(std::stop_token)>& function) {
  std::exception_ptr failure;
  const auto stop = std::make_unique<std::stop_source>();  // GCC 12 warns about one on the stack
  std::optional<BackgroundCall> call;
  {
    const GilRelease no_gil;
    call.emplace([&, token = stop->get_token()] {
      try {
        function(token);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  try {
    call->wait();
  } catch (...) {
    if (call->is_inherited()) throw;
    const GilRelease no_gil;
    stop->request_stop();
    call->join();
    throw;
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace recordpipe::python
