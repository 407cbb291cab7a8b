#include "python/native/iterate/iterator.h"

#include <type_traits>
#include <utility>

#include "dataset/parallel/service_thread.h"
#include "dataset/pipeline/plan/node.h"
#include "python/native/dataset/dataset_files.h"
#include "python/native/dataset/unlisted.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

Error closed() {
  return Error({.kind = ErrorKind::invalid_argument, .reason = "the iterator is closed"});
}

template <class T>
auto make_pass(Iterator<T> pass, std::shared_ptr<PassOwner> owner) {
  return std::make_unique<InterruptiblePass<T>>(std::move(pass), std::move(owner));
}

// Calls function(InterruptiblePass<T>&); throws if the variant, PythonIterator::Pass, has none.
template <class Pass, class Function>
auto visit_pass(Pass& pass, const Function& function) {
  using Any = std::invoke_result_t<const Function&, InterruptiblePass<Record>&>;
  return std::visit(
      [&](auto& some) -> Any {
        if constexpr (std::is_same_v<std::decay_t<decltype(some)>, std::monostate>) {
          throw closed();
        } else {
          return function(*some);
        }
      },
      pass);
}

}  // namespace

PythonIterator::PythonIterator(const PythonDataset& dataset, std::optional<uint64_t> epoch,
                               nb::object at_end)
    : spec_(dataset.spec()), at_end_(std::move(at_end)) {
  const PythonDataset computed = dataset.computed();
  single_ = computed.single();
  const internal::WorkScope scope(owner_);
  const GilRelease no_gil;
  computed.visit([&](const auto& elements) {
    plan_hash_ = elements.plan_hash();
    node_ = extension::node(elements);
    not_compared_ = extension::not_compared(node_);
    // computed() has made batches of steps.
    if constexpr (!std::is_same_v<decltype(elements), const Dataset<rlds::Step>&>) {
      auto pass = elements.iterate({.epoch = epoch});
      workers_ = pass.workers();
      pass_ = make_pass(std::move(pass), owner_);
    }
  });
}

PythonIterator::~PythonIterator() {
  close();
  pool_->close();
  if (maker_.is_this()) write_unlisted();
  if (!maker_.is_this()) {
    (void)guard_.release();
    return;
  }
  if (!internal::works_for(*owner_)) return;
  // The garbage collector runs on a thread of this pass, which can't wait for itself: another
  // thread destroys the pass.
  auto pass = std::make_unique<Pass>(std::move(pass_));
  try {
    parallel::ServiceThread::start_detached("rp-close", [pass = pass.get(), guard = guard_.get()] {
      delete pass;
      delete guard;
    });
    (void)guard_.release();
  } catch (const Error&) {  // there are no more threads: the pass is leaked
  }
  (void)pass.release();
}

void PythonIterator::close() {
  if (!maker_.is_this()) return;
  // The threads that are waited for may need the GIL.
  const GilRelease no_gil;
  owner_->close();
  // A function on a thread of the pass must not wait for locks that a closing thread holds: the
  // element in work is the last one.
  if (user_ != std::this_thread::get_id() && internal::works_for(*owner_)) return;
  {
    const std::lock_guard lock(close_mutex_);
    if (pass_.index() != 0) visit_pass(pass_, [](auto& pass) { pass.request_stop(); });
  }
  // Called by a signal handler, or by a function that this thread runs: next() ends now.
  if (user_ == std::this_thread::get_id()) return;
  const std::lock_guard lock(mutex_);
  user_ = std::this_thread::get_id();
  {
    // Its elements' finalizers, and those that the garbage collector then calls, may use this
    // iterator on this thread: no lock that they would wait for is held, but mutex_, as in next().
    Pass ended;
    {
      const std::lock_guard close_lock(close_mutex_);
      ended = std::exchange(pass_, std::monostate());
    }
  }
  user_ = std::thread::id();
  guard_.reset();
}

PythonIterator::Use::Use(PythonIterator& iterator) : iterator_(iterator) {
  iterator.maker_.require_this("the iterator");
  if (iterator.user_ == std::this_thread::get_id() || internal::works_for(*iterator.owner_)) {
    if (iterator.owner_->is_closing) throw closed();
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
  return visit_pass(pass_, function);
}

nb::object PythonIterator::take(Use& lock) {
  const auto lent = [&](auto* const batch) -> nb::object {
    if (!batch) return {};
    std::unique_ptr<ParsedBatch> memory = pool_->lend(*batch, spec_->has_masks());
    if (!convert_) lock.unlock();
    return to_python(std::move(memory), pool_, *spec_, single_);
  };
  if (auto* const records = std::get_if<PassOf<Record>>(&pass_)) {
    if (const Record* const record = (*records)->next()) {
      return bytes_of(record->data);
    }
  } else if (auto* const batches = std::get_if<PassOf<ParsedBatch>>(&pass_)) {
    return lent((*batches)->next());
  } else if (auto* const images = std::get_if<PassOf<ImageBatch>>(&pass_)) {
    return lent((*images)->next());
  } else if (auto* const objects = std::get_if<PassOf<PythonObject>>(&pass_)) {
    if (const PythonObject* const object = (*objects)->next()) return object->get();
  }
  return {};
}

nb::object PythonIterator::next() {
  // By what calls it, which the pass may have begun before.
  require_not_replaced([this] { return node_->describe().source_files(); }, checked_write_);
  Use lock(*this);
  if (at_first_) std::exchange(at_first_, nb::object())();
  nb::object element = take(lock);
  if (element && convert_) {
    // What was lent when the element was taken is not in its slot any more.
    if (unread_) element = std::exchange(unread_, nb::object());
    try {
      return convert_(element);
    } catch (...) {
      if (pass_.index() != 0) {
        visit_pass(pass_, [](auto& pass) { pass.unread(); });
        unread_ = std::move(element);
      }
      throw;
    }
  }
  if (element) return element;
  std::optional<uint64_t> ended;  // nothing, if the pass was closed
  if (!at_end_.is_none() && !owner_->is_closing && pass_.index() != 0) {
    visit_pass(pass_, [&](auto& pass) { ended = pass.epoch(); });
  }
  lock.unlock();
  if (owner_->is_closing) stay_if_exit_has_begun();
  if (ended) at_end_(*ended);
  if (!owner_->is_closing) warn_of_unlisted();
  throw nb::stop_iteration();
}

std::string PythonIterator::statistics() {
  return locked([](auto& pass) { return pass.iterator().statistics().text(); });
}

SkippedReport PythonIterator::skipped() {
  return locked([](auto& pass) { return pass.iterator().skipped(); });
}

nb::tuple PythonIterator::state() {
  const auto [state, position] = locked([](auto& pass) { return pass.place(); });
  return nb::make_tuple(bytes_of(state), position);
}

void PythonIterator::restore(std::string_view state) {
  const Use lock(*this);
  visit_pass(pass_, [&](auto& pass) {
    try {
      pass.restore(state);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled && owner_->is_closing) throw closed();
      throw;
    }
  });
  at_first_.reset();
  unread_.reset();
}

std::string PythonIterator::with_own_code(std::string_view state) {
  return locked([&](auto& pass) { return pass.iterator().with_own_code(state); });
}

uint64_t PythonIterator::epoch() {
  return locked([](auto& pass) { return pass.epoch(); });
}

uint64_t PythonIterator::position() {
  return locked([](auto& pass) { return pass.position(); });
}

}  // namespace recordpipe::python
