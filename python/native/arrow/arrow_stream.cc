#include "python/native/arrow/arrow_stream.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "python/native/arrow/arrow_array.h"
#include "python/native/arrow/arrow_schema.h"
#include "python/native/arrow/arrow_steps.h"
#include "python/native/dataset/unlisted.h"
#include "python/native/interpreter/background_call.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/iterator.h"

namespace recordpipe::python {
namespace {

using Clock = std::chrono::steady_clock;

// Rows of a record batch where the plan has no batches: enough that the cost per batch is small,
// and few enough that a batch of rows of a known size takes at most 16 MiB.
constexpr size_t kMaxRows = 1024;
constexpr size_t kMaxFixedBytes = 16 << 20;

size_t fixed_row_bytes(const ParseSpec& spec) {
  size_t bytes = 0;
  for (const OutputFeature& feature : spec.outputs) {
    size_t size = feature.form == FeatureForm::raw ? feature.dtype.bits / 8 : sizeof(int64_t);
    for (const size_t dimension : feature.shape) size *= dimension;
    bytes += size;
  }
  return bytes;
}

// The spec of a parsed dataset; that of steps with what become their columns.
ParseSpec columns_of(const PythonDataset& dataset) {
  ParseSpec spec = *dataset.spec();
  if (const rlds::StepCollator* const steps = spec.collator.steps()) {
    spec.outputs = step_columns(steps->reader());
  }
  return spec;
}

Dataset<ParsedBatch> batches_of(const PythonDataset& dataset) {
  if (dataset.spec() && dataset.spec()->collator.tfds()) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "the nested elements of tfds() have no Arrow columns",
                 .hint = "read the TFRecord files with tfrecords(), and parse() the features"});
  }
  if (const auto* batches = std::get_if<Dataset<ParsedBatch>>(&dataset.elements())) return *batches;
  if (std::holds_alternative<Dataset<ImageBatch>>(dataset.elements())) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "column 'image': batches of images have no Arrow type",
                 .hint = "read the TFRecord files with tfrecords(), and parse() the features"});
  }
  if (!dataset.rows()) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "only parsed records, and batches of them, have Arrow columns",
                 .hint = "call parse() first, and no function in Python after it"});
  }
  const size_t row_bytes = std::max<size_t>(fixed_row_bytes(columns_of(dataset)), 1);
  const size_t rows = std::clamp<size_t>(kMaxFixedBytes / row_bytes, 1, kMaxRows);
  const auto batched = [&](const auto& elements) {
    return elements.batch(rows, DropRemainder::no, dataset.spec()->collator);
  };
  if (const auto* steps = std::get_if<Dataset<rlds::Step>>(&dataset.elements())) {
    return batched(*steps);
  }
  return batched(std::get<Dataset<Record>>(dataset.elements()));
}

int errno_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
      return ENOENT;
    case ErrorKind::permission_denied:
      return EACCES;
    case ErrorKind::io:
    case ErrorKind::network:
      return EIO;
    case ErrorKind::cancelled:
      return ECANCELED;
    default:
      return EINVAL;
  }
}

// Python calls it on the main thread, between two instructions. Owns `exception`.
int raise_pending(void* exception) {
  const std::unique_ptr<PythonException> owned(static_cast<PythonException*>(exception));
  owned->raise();
  return -1;
}

// Such as "TimeoutError: 10 s".
std::string name_of(const nb::python_error& error) {
  std::string name = nb::str(error.type().attr("__name__")).c_str();
  const nb::object text = nb::steal(PyObject_Str(error.value().ptr()));
  if (!text) {
    PyErr_Clear();
  } else if (const std::string message = nb::str(text).c_str(); !message.empty()) {
    name += ": " + message;
  }
  return name;
}

// Calls function(), which may run the Python handlers of signals. Throws Error{cancelled} if one
// raises: an Arrow consumer can't pass a Python exception on, so Python raises it when the consumer
// returns. With the GIL.
template <class Function>
void run_handlers(const Function& function) {
  try {
    function();
    return;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const PythonException& kept) {
    kept.raise();
  }
  nb::python_error raised;
  const std::string name = name_of(raised);
  auto exception = std::make_unique<PythonException>(raised);
  if (Py_AddPendingCall(raise_pending, exception.get()) == 0) (void)exception.release();
  throw Error({.kind = ErrorKind::cancelled, .reason = "interrupted by a signal: " + name});
}

// Runs the handlers of signals that have arrived, like run_handlers().
void handle_signals() {
  if (!nb::is_alive() || !on_main_thread()) return;
  const GilScope gil;
  run_handlers(raise_interrupt);
}

class Stream {
 public:
  Stream(const PythonDataset& dataset, NeededColumns needed)
      : batches_(batches_of(dataset)), spec_(columns_of(dataset)), needed_(std::move(needed)) {}
  ~Stream() {
    // The threads of the pass exist in the process that began it only.
    if (pass_ && getpid() != process_) (void)pass_.release();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const ParseSpec& spec() const { return spec_; }
  const std::string& error() const { return error_; }

  // Calls function(), and returns 0, or an errno value after an exception, whose message is error()
  // from then on.
  template <class Function>
  int guarded(const Function& function) noexcept {
    try {
      try {
        function();
        return 0;
      } catch (const Error& error) {
        error_ = error.what();
        return errno_of(error.kind());
      } catch (const std::bad_alloc&) {
        error_ = "not enough memory";
        return ENOMEM;
      } catch (const std::exception& error) {
        error_ = error.what();
        return EIO;
      }
    } catch (const std::exception&) {
      return ENOMEM;  // of the message
    }
  }

  // At the end, `out` is released.
  void next(ArrowArray& out) {
    out.release = nullptr;
    const std::lock_guard lock(mutex_);
    begin();
    ParsedBatch* const batch = next_batch();
    if (!batch) return end();
    Presence presence = presence_of(*batch, spec_);
    needed_.note(*batch, spec_, presence);
    export_batch(pool_->lend(*batch), pool_, spec_, std::move(presence), out);
  }

  void close() {
    is_closed_ = true;
    if (getpid() != process_) return;
    {
      const std::lock_guard lock(pass_mutex_);
      if (pass_) pass_->request_stop();
    }
    const std::scoped_lock locks(mutex_, pass_mutex_);
    pass_.reset();
  }

 private:
  void end() const {
    const std::string note = needed_.require();
    if ((note.empty() && !has_unlisted()) || !nb::is_alive()) return;
    const GilScope gil;
    run_handlers([&] {
      warn(note);
      warn_of_unlisted();
    });
  }

  void begin() {
    if (is_closed_) {
      throw Error({.kind = ErrorKind::cancelled, .reason = "the Python interpreter has ended"});
    }
    if (!pass_) {
      auto pass = std::make_unique<Iterator<ParsedBatch>>(batches_.iterate());
      const std::lock_guard lock(pass_mutex_);
      pass_ = std::move(pass);
      process_ = getpid();
    } else if (getpid() != process_) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "this Arrow stream was begun before fork()",
                   .hint = "make a new stream in the child process"});
    }
  }

  // Waits here until the first signal, and in background since then, as interruptible_pass.h
  // describes it.
  ParsedBatch* next_batch() {
    if (outcome_) return take_outcome();
    if (!resume_at_ && pass_->ready() > 0) return pass_->next();
    while (true) {
      if (in_background_ && nb::is_alive() && on_main_thread()) return next_in_background();
      go_on();
      // A signal may have arrived between the calls. Waiting for the GIL costs too much for each.
      if (Clock::now() - signals_handled_ > std::chrono::milliseconds(50)) {
        handle_signals();
        signals_handled_ = Clock::now();
      }
      std::atomic<bool> interrupted = false;
      std::optional<ParsedBatch*> batch;
      {
        const InterruptScope scope([&] {
          interrupted = true;
          pass_->request_stop();
        });
        try {
          batch = pass_->next();
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::cancelled || !interrupted || is_closed_) throw;
        }
      }
      // Until the end of the scope: the stop may be too late for this batch.
      if (interrupted) note_stop();
      if (batch) return *batch;
      handle_signals();
    }
  }

  struct Outcome {
    ParsedBatch* batch = nullptr;
    std::exception_ptr failure;
  };

  // After a stop: moves the pass to its place. A stop on the way there makes it begin its epoch, so
  // the place is kept until it is reached.
  void go_on() {
    if (is_interrupted_.exchange(false) && !resume_at_) resume_at_ = pass_->state();
    if (!resume_at_) return;
    pass_->restore(*resume_at_);
    resume_at_.reset();
  }

  void note_stop() {
    is_interrupted_ = true;
    in_background_ = true;
  }

  ParsedBatch* next_in_background() {
    const auto compute = [this](const std::stop_token& raised) {
      const std::stop_callback on_stop(raised, [this] {
        is_interrupted_ = true;
        pass_->request_stop();
      });
      Outcome outcome;
      try {
        go_on();
        outcome.batch = pass_->next();
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      outcome_ = outcome;
    };
    const GilScope gil;
    try {
      run_handlers([&] { call_in_background(compute); });
    } catch (const Error&) {
      if (outcome_ && is_stop(outcome_->failure)) outcome_.reset();  // else for the next call
      throw;
    }
    return take_outcome();
  }

  ParsedBatch* take_outcome() {
    const Outcome outcome = *std::exchange(outcome_, std::nullopt);
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    return outcome.batch;
  }

  bool is_stop(const std::exception_ptr& failure) const {
    if (!failure) return false;
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::cancelled && is_interrupted_ && !is_closed_;
    } catch (...) {
      return false;
    }
  }

  const Dataset<ParsedBatch> batches_;
  const ParseSpec spec_;  // a copy: that of `dataset` is Python's
  NeededColumns needed_;
  const std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
  std::string error_;
  std::mutex mutex_;
  std::mutex pass_mutex_;  // held while pass_ is replaced, or stopped without mutex_
  std::unique_ptr<Iterator<ParsedBatch>> pass_;
  pid_t process_ = getpid();  // that has the threads of pass_
  Clock::time_point signals_handled_ = Clock::now();
  std::atomic<bool> is_interrupted_ = false;  // pass_ is stopped, and has its place
  std::optional<std::string> resume_at_;
  bool in_background_ = false;
  std::optional<Outcome> outcome_;  // of a background call that a handler's exception has left
  std::atomic<bool> is_closed_ = false;
};

// The streams that close_arrow_streams() closes. Never destroyed: consumers may release a stream
// while the process exits.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> streams;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

void enter(const std::shared_ptr<Stream>& stream) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.streams, [](const auto& entry) { return entry.expired(); });
  all.streams.push_back(stream);
}

Stream& stream_of(ArrowArrayStream* stream) {
  return **static_cast<std::shared_ptr<Stream>*>(stream->private_data);
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  Stream& self = stream_of(stream);
  return self.guarded([&] { export_schema(self.spec(), *out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Stream& self = stream_of(stream);
  return self.guarded([&] { self.next(*out); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = stream_of(stream).error();
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  stream->release = nullptr;
  delete static_cast<std::shared_ptr<Stream>*>(stream->private_data);
}

}  // namespace

void export_schema(const PythonDataset& dataset, ArrowSchema& out) {
  batches_of(dataset);
  export_schema(columns_of(dataset), out);
}

void export_stream(const PythonDataset& dataset, NeededColumns needed, ArrowArrayStream& out) {
  ArrowSchema schema;
  export_schema(dataset, schema);  // errors belong here, not into the middle of a query
  schema.release(&schema);
  auto stream = std::make_unique<std::shared_ptr<Stream>>(
      std::make_shared<Stream>(dataset, std::move(needed)));
  enter(*stream);
  out = {.get_schema = get_schema,
         .get_next = get_next,
         .get_last_error = get_last_error,
         .release = release_stream,
         .private_data = stream.release()};
}

void close_arrow_streams() {
  std::vector<std::shared_ptr<Stream>> open;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (const auto& entry : all.streams) {
      if (auto stream = entry.lock()) open.push_back(std::move(stream));
    }
  }
  for (const auto& stream : open) stream->close();
}

}  // namespace recordpipe::python
