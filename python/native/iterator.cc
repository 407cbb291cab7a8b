#include "python/native/iterator.h"

#include <atomic>
#include <memory>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "python/native/gil.h"
#include "python/native/interpreter_exit.h"
#include "python/native/interrupt.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/fork_block.h"

namespace recordpipe::python {
namespace {

Error closed() {
  return Error({.kind = ErrorKind::invalid_argument, .reason = "the iterator is closed"});
}

// Throws the exception of the handler of a signal that ended a wait, if it raised one.
void raise_interrupt() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  // A function of the pipeline may have run the handler, on this thread.
  if (const std::exception_ptr raised = take_raised_by_interrupt()) std::rethrow_exception(raised);
}

}  // namespace

PythonIterator::PythonIterator(const PythonDataset& dataset, std::optional<uint64_t> epoch,
                               nb::object at_end)
    : spec_(dataset.spec()), rows_(dataset.rows()), at_end_(std::move(at_end)) {
  const PythonDataset computed = dataset.computed();
  const internal::WorkScope scope(owner_);
  const GilRelease no_gil;
  computed.visit([&](const auto& elements) {
    plan_hash_ = elements.plan_hash();
    // computed() has made batches of steps.
    if constexpr (!std::is_same_v<decltype(elements), const Dataset<rlds::Step>&>) {
      auto pass = elements.iterate({.epoch = epoch});
      workers_ = pass.workers();
      pass_ = std::move(pass);
    }
  });
}

PythonIterator::~PythonIterator() {
  close();
  pool_->close();
  if (!maker_.is_this()) {
    (void)guard_.release();
    return;
  }
  if (!internal::works_for(*owner_)) return;
  // The garbage collector runs on a thread of this pass, which can't wait for itself: another
  // thread destroys the pass.
  auto pass = std::make_unique<Pass>(std::move(pass_));
  try {
    const internal::ForkBlock no_fork;
    std::thread([pass = pass.get(), guard = guard_.get()] {
      delete pass;
      delete guard;
    }).detach();
    (void)guard_.release();
  } catch (const std::system_error&) {  // there are no more threads: the pass is leaked
  }
  (void)pass.release();
}

void PythonIterator::close() {
  if (!maker_.is_this()) return;
  // The threads that are waited for may need the GIL.
  const GilRelease no_gil;
  is_closing_ = owner_->is_stopping = true;
  // A function on a thread of the pass must not wait for locks that a closing thread holds: the
  // element in work is the last one.
  if (user_ != std::this_thread::get_id() && internal::works_for(*owner_)) return;
  {
    const std::lock_guard lock(close_mutex_);
    std::visit(
        [](auto& pass) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(pass)>, std::monostate>) {
            pass.request_stop();
          }
        },
        pass_);
  }
  // Called by a signal handler, or by a function that this thread runs: next() ends now.
  if (user_ == std::this_thread::get_id()) return;
  const std::scoped_lock locks(mutex_, close_mutex_);
  pass_ = std::monostate();
  guard_.reset();
}

PythonIterator::Use::Use(PythonIterator& iterator) : iterator_(iterator) {
  iterator.maker_.require_this("the iterator");
  if (iterator.user_ == std::this_thread::get_id() || internal::works_for(*iterator.owner_)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "the iterator is in the middle of next()",
                 .hint = "in a function of its pipeline, iterate the Dataset anew; in a signal "
                         "handler, set a flag, and look at it after next()"});
  }
  if (!iterator.mutex_.try_lock()) {
    // A thread that waits for the lock doesn't hold the GIL, so the holder of the lock may wait for
    // the GIL.
    const GilRelease no_gil;
    iterator.mutex_.lock();
  }
  iterator.user_ = std::this_thread::get_id();
  scope_.emplace(iterator.owner_);
}

void PythonIterator::Use::unlock() {
  if (!std::exchange(is_locked_, false)) return;
  scope_.reset();
  iterator_.user_ = std::thread::id();
  iterator_.mutex_.unlock();
}

template <class Function>
auto PythonIterator::locked(const Function& function) {
  const Use lock(*this);
  const GilRelease no_gil;
  using Result = std::invoke_result_t<const Function&, Iterator<Record>&>;
  return std::visit(
      [&](auto& pass) -> Result {
        if constexpr (std::is_same_v<std::decay_t<decltype(pass)>, std::monostate>) {
          throw closed();
        } else {
          return function(pass);
        }
      },
      pass_);
}

template <class T>
T* PythonIterator::next_of(Iterator<T>& pass) {
  if (is_closing_) return nullptr;  // by a function of the pipeline
  if (pass.ready() > 0) return pass.next();
  while (true) {
    if (is_interrupted_.exchange(false)) {
      const GilRelease no_gil;
      owner_->is_stopping = false;
      pass.restore(pass.state());
    }
    if (is_closing_) return nullptr;  // also by the handler of a signal
    T* element = nullptr;
    bool has_ended = true;
    try {
      // The request may come at any time before the end of the scope, also after the element.
      const InterruptScope scope([&] { interrupt(pass); });
      // A signal that came before the scope is noticed here.
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const GilRelease no_gil;
      element = pass.next();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::cancelled || !(is_interrupted_ || is_closing_)) throw;
      has_ended = false;
    }
    try {
      raise_interrupt();
    } catch (...) {
      // The exception replaces the element, which the next call must return.
      if (element) pass.unread();
      throw;
    }
    if (has_ended) return element;
  }
}

template <class T>
void PythonIterator::interrupt(Iterator<T>& pass) {
  is_interrupted_ = owner_->is_stopping = true;
  pass.request_stop();
}

template <class T>
void PythonIterator::restore_of(Iterator<T>& pass, std::string_view state) {
  while (true) {
    is_interrupted_ = owner_->is_stopping = false;
    try {
      const InterruptScope scope([&] { interrupt(pass); });
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const GilRelease no_gil;
      return pass.restore(state);
    } catch (const Error& error) {
      if (is_closing_) throw closed();  // by another thread
      if (error.kind() != ErrorKind::cancelled || !is_interrupted_) throw;
    }
    is_interrupted_ = owner_->is_stopping = false;
    raise_interrupt();
  }
}

nb::object PythonIterator::take(Use& lock) {
  if (auto* const records = std::get_if<Iterator<Record>>(&pass_)) {
    if (const Record* const record = next_of(*records)) {
      return nb::bytes(record->data.data(), record->data.size());
    }
  } else if (auto* const batches = std::get_if<Iterator<ParsedBatch>>(&pass_)) {
    if (ParsedBatch* const batch = next_of(*batches)) {
      std::unique_ptr<ParsedBatch> lent = pool_->lend(*batch);
      if (!convert_) lock.unlock();
      return to_python(std::move(lent), pool_, *spec_, rows_);
    }
  } else if (auto* const images = std::get_if<Iterator<ImageBatch>>(&pass_)) {
    if (ImageBatch* const batch = next_of(*images)) {
      std::unique_ptr<ParsedBatch> lent = pool_->lend(*batch);
      if (!convert_) lock.unlock();
      return to_python(std::move(lent), pool_, *spec_, rows_);
    }
  } else if (auto* const objects = std::get_if<Iterator<PythonObject>>(&pass_)) {
    if (const PythonObject* const object = next_of(*objects)) return object->get();
  }
  return {};
}

nb::object PythonIterator::next() {
  Use lock(*this);
  if (at_first_) std::exchange(at_first_, nb::object())();
  nb::object element = take(lock);
  if (element && convert_) {
    // What was lent when the element was taken is not in its slot any more.
    if (unread_) element = std::exchange(unread_, nb::object());
    try {
      return convert_(element);
    } catch (...) {
      std::visit(
          [&](auto& pass) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(pass)>, std::monostate>) {
              pass.unread();
              unread_ = std::move(element);
            }
          },
          pass_);
      throw;
    }
  }
  if (element) return element;
  std::optional<uint64_t> ended;  // nothing, if the pass was closed
  if (!at_end_.is_none() && !is_closing_) {
    std::visit(
        [&](auto& pass) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(pass)>, std::monostate>) {
            ended = pass.epoch();
          }
        },
        pass_);
  }
  lock.unlock();
  if (is_closing_) stay_if_exit_has_begun();
  if (ended) at_end_(*ended);
  throw nb::stop_iteration();
}

std::string PythonIterator::statistics() {
  return locked([](auto& pass) { return pass.statistics().text(); });
}

SkippedReport PythonIterator::skipped() {
  return locked([](auto& pass) { return pass.skipped(); });
}

nb::tuple PythonIterator::state() {
  const auto [state, position] =
      locked([](auto& pass) { return std::pair(pass.state(), pass.position()); });
  return nb::make_tuple(nb::bytes(state.data(), state.size()), position);
}

void PythonIterator::restore(std::string_view state) {
  const Use lock(*this);
  at_first_.reset();
  unread_.reset();
  std::visit(
      [&](auto& pass) {
        if constexpr (std::is_same_v<std::decay_t<decltype(pass)>, std::monostate>) {
          throw closed();
        } else {
          restore_of(pass, state);
        }
      },
      pass_);
}

uint64_t PythonIterator::epoch() {
  return locked([](auto& pass) { return pass.epoch(); });
}

uint64_t PythonIterator::position() {
  return locked([](auto& pass) { return pass.position(); });
}

}  // namespace recordpipe::python
