#include "python/native/iterate/interruptible_pass.h"

#include <stop_token>

#include "python/native/dataset/parsed_batch.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/values/python_object.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record.h"

namespace recordpipe::python {

template <class T>
InterruptiblePass<T>::~InterruptiblePass() {
  if (job_ && !job_->call->is_inherited()) stop();
}

template <class T>
T* InterruptiblePass<T>::next() {
  while (!owner_->is_closing) {  // perhaps by a function of the pipeline, or by a handler
    Outcome outcome;
    if (job_) {
      outcome = wait();
    } else {
      if (!resume_at_ && pass_.ready() > 0) return pass_.next();
      note_stop();
      if (in_background_) {
        start();
        continue;
      }
      outcome = compute_here();
    }
    T* element = nullptr;
    if (finish(outcome, element)) return element;
  }
  return nullptr;
}

template <class T>
typename InterruptiblePass<T>::Outcome InterruptiblePass<T>::compute_here() {
  Outcome outcome;
  // The request may come at any time before the end of the scope, also after the element.
  const InterruptScope scope([this] { stop(); });
  // A signal that came before the scope is noticed here.
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  const GilRelease no_gil;
  compute(outcome);
  return outcome;
}

template <class T>
void InterruptiblePass<T>::compute(Outcome& outcome) noexcept {
  try {
    if (resume_at_) pass_.restore(resume_at_->state);
    // restore() undoes a stop that comes at its begin; functions have then failed on the way.
    if (is_stopped_ || owner_->is_closing) return;
    resume_at_.reset();
    outcome.element = pass_.next();
    outcome.has_ended = true;
  } catch (...) {
    outcome.failure = std::current_exception();
  }
}

template <class T>
void InterruptiblePass<T>::start() {
  const GilRelease no_gil;
  auto job = std::make_unique<Job>();
  job->call.emplace([this, outcome = &job->outcome] { compute(*outcome); });
  job_ = std::move(job);
}

template <class T>
typename InterruptiblePass<T>::Outcome InterruptiblePass<T>::wait() {
  try {
    job_->call->wait();
  } catch (nanobind::python_error& raised) {
    stop_unless_exception(raised);
    throw;
  }
  return std::exchange(job_, nullptr)->outcome;
}

// KeyboardInterrupt, for example, also stops the functions that are running ahead.
template <class T>
void InterruptiblePass<T>::stop_unless_exception(const nanobind::python_error& raised) {
  if (raised.matches(PyExc_Exception)) return;
  const GilRelease no_gil;
  stop();
}

// Returns whether next() returns `element`; else the pass was stopped. Throws a handler's
// exception, else the failure of the pass. Each is thrown again, or the element is returned, by the
// next call.
template <class T>
bool InterruptiblePass<T>::finish(const Outcome& outcome, T*& element) {
  const bool has_failed = is_own(outcome.failure);
  if (has_failed) forget_stop();  // there is no place to go on from
  try {
    raise_interrupt();
  } catch (nanobind::python_error& raised) {
    if (outcome.element) pass_.unread();
    if (!has_failed) stop_unless_exception(raised);
    throw;
  } catch (...) {
    if (outcome.element) pass_.unread();
    throw;
  }
  if (has_failed) std::rethrow_exception(outcome.failure);
  element = outcome.element;
  return outcome.has_ended;
}

// Whether it is a failure of the pass, and not of a request to stop.
template <class T>
bool InterruptiblePass<T>::is_own(const std::exception_ptr& failure) const {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.kind() != ErrorKind::cancelled || !(is_stopped_ || owner_->is_closing);
  } catch (...) {
    return true;
  }
}

template <class T>
void InterruptiblePass<T>::stop() {
  is_stopped_ = true;
  // Before the functions fail because they work in vain: the pass must not return such a failure.
  pass_.request_stop();
  owner_->is_stopping = true;
}

// After a stop: keeps the place where the pass goes on.
template <class T>
void InterruptiblePass<T>::note_stop() {
  if (!is_stopped_) return;
  const GilRelease no_gil;
  if (!resume_at_) resume_at_ = Place{pass_.state(), pass_.position()};
  forget_stop();
  in_background_ = true;
}

template <class T>
void InterruptiblePass<T>::forget_stop() {
  is_stopped_ = false;
  owner_->go_on();  // else functions would fail on the way to a place
}

template <class T>
Iterator<T>& InterruptiblePass<T>::settled() {
  if (!job_) return pass_;
  if (!job_->call->has_returned()) stop();
  job_->call->join();
  const Outcome outcome = std::exchange(job_, nullptr)->outcome;
  if (outcome.element) pass_.unread();
  if (is_own(outcome.failure)) forget_stop();
  return pass_;
}

template <class T>
Place InterruptiblePass<T>::place() {
  Iterator<T>& pass = settled();
  return resume_at_ ? *resume_at_ : Place{pass.state(), pass.position()};
}

template <class T>
uint64_t InterruptiblePass<T>::position() {
  Iterator<T>& pass = settled();
  return resume_at_ ? resume_at_->position : pass.position();
}

template <class T>
void InterruptiblePass<T>::restore(std::string_view state) {
  {
    const GilRelease no_gil;
    settled();
  }
  note_stop();
  if (in_background_ || !restore_here(state)) restore_in_background(state);
  resume_at_.reset();
}

// Returns false if a signal has stopped it, whose handler has raised nothing.
template <class T>
bool InterruptiblePass<T>::restore_here(std::string_view state) {
  std::exception_ptr failure;
  {
    const InterruptScope scope([this] { stop(); });
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    const GilRelease no_gil;
    failure = try_restore(state);
  }
  if (is_own(failure)) std::rethrow_exception(failure);
  if (!is_stopped_) return true;
  try {
    raise_interrupt();
  } catch (...) {
    leave_restore(state, failure);
    throw;
  }
  note_stop();
  return false;
}

template <class T>
void InterruptiblePass<T>::restore_in_background(std::string_view state) {
  if (owner_->is_closing) throw Error({.kind = ErrorKind::cancelled, .reason = "closed"});
  std::exception_ptr failure;
  try {
    call_in_background([&](const std::stop_token& raised) {
      const std::stop_callback on_stop(raised, [this] { stop(); });
      failure = try_restore(state);
    });
  } catch (...) {
    leave_restore(state, failure);
    throw;
  }
  if (failure) std::rethrow_exception(failure);
}

template <class T>
std::exception_ptr InterruptiblePass<T>::try_restore(std::string_view state) {
  try {
    pass_.restore(state);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// After a stop of pass_.restore(state).
template <class T>
void InterruptiblePass<T>::leave_restore(std::string_view state,
                                         const std::exception_ptr& failure) {
  if (!failure) {  // the stop came at its begin, or after its end: see compute()
    resume_at_ = Place{std::string(state), position_of_state(state) / pass_.workers()};
  } else if (!is_own(failure)) {
    resume_at_.reset();  // it has started its epoch again
  }
}

template class InterruptiblePass<Record>;
template class InterruptiblePass<ParsedBatch>;
template class InterruptiblePass<ImageBatch>;
template class InterruptiblePass<PythonObject>;

}  // namespace recordpipe::python
