#include "python/native/dataset/elements.h"

#include <string>
#include <type_traits>
#include <utility>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/stage.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interrupt.h"
#include "recordpipe/pipeline/options.h"

namespace recordpipe::python {

struct Elements::Worker {
  explicit Worker(internal::Work& work) : producer(work.make_producer()), values(work.element()) {}

  std::unique_ptr<internal::Producer> producer;
  internal::ElementBuffer values;
  std::vector<internal::Ticket> tickets;
};

struct Elements::Opened {
  explicit Opened(const internal::Node& node)
      : context(internal::make_stage_context({.threads = 1})), stage(node.make_stage(context)) {}

  // Returns a worker with the tickets of the elements.
  std::unique_ptr<Worker> plan(const std::vector<uint64_t>& numbers) {
    const std::lock_guard lock(mutex);
    std::unique_ptr<Worker> worker;
    if (spare.empty()) {
      worker = std::make_unique<Worker>(*stage.work);
    } else {
      worker = std::move(spare.back());
      spare.pop_back();
    }
    worker->tickets.resize(numbers.size());
    stage.plan->tickets_at(numbers, worker->tickets);
    return worker;
  }
  void give_back(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex);
    spare.push_back(std::move(worker));
  }

  const internal::StageContext context;
  internal::Stage stage;  // outlives the workers
  uint64_t size = 0;
  std::mutex mutex;  // is locked without the GIL
  std::vector<std::unique_ptr<Worker>> spare;
};

Elements::Elements(const PythonDataset& dataset, uint64_t epoch)
    : epoch_(epoch), spec_(dataset.spec()) {
  if (dataset.rows()) {
    dataset.visit_drawn([&]<class T>(const Dataset<T>& rows) {
      node_ = extension::node(rows);
      convert_ = [this](void* element) {
        return parsed_rows(pool_, *spec_, 1, /*single=*/true, [&](ParsedBatch& row) {
          spec_->collator.set(row, 0, std::move(*static_cast<T*>(element)));
        });
      };
    });
  } else {
    const Dataset<PythonObject> objects = dataset.objects();
    node_ = extension::node(objects);
    convert_ = [](void* element) { return static_cast<PythonObject*>(element)->get(); };
  }
  const std::string sequential = node_->sequential_operator();
  if (sequential.empty()) return;
  const std::string reason =
      "elements by number need random access, which " + sequential + " does not have; use skip(n)";
  throw nb::type_error(reason.c_str());
}

std::shared_ptr<Elements::Opened> Elements::opened() {
  {
    const std::lock_guard lock(mutex_);
    if (opened_) return opened_;
  }
  auto made = interruptible([&](const std::stop_token& stop) {
    auto opening = std::make_shared<Opened>(*node_);
    opening->stage.plan->restart(epoch_);
    const std::stop_callback stopping(stop, [&] { opening->stage.plan->request_stop(); });
    opening->size = opening->stage.plan->size();
    return opening;
  });
  const std::lock_guard lock(mutex_);
  if (!opened_) opened_ = std::move(made);  // another thread may have been faster
  return opened_;
}

uint64_t Elements::size() { return opened()->size; }

nb::list Elements::get(const std::vector<uint64_t>& numbers) {
  const std::shared_ptr<Opened> opened = this->opened();
  std::unique_ptr<Worker> worker;  // is dropped after an error
  extension::Failures failures;
  {
    const GilRelease no_gil;
    worker = opened->plan(numbers);
    worker->values.grow(numbers.size());
    failures = worker->producer->produce(worker->tickets, worker->values.data());
  }
  if (!failures.empty()) {
    const std::exception_ptr error = std::exchange(failures.front().error, nullptr);
    std::rethrow_exception(error);
  }
  nb::list list;
  for (size_t i = 0; i < numbers.size(); ++i) list.append(convert_(worker->values.at(i)));
  // Its values, and the rows of batches, would live as long as the Dataset.
  constexpr uint64_t kMostKept = uint64_t{1} << 16;
  const GilRelease no_gil;
  if (worker->values.bytes() <= kMostKept) opened->give_back(std::move(worker));
  return list;
}

}  // namespace recordpipe::python
