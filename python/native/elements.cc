#include "python/native/elements.h"

#include <string>
#include <type_traits>
#include <utility>

#include "dataset/pipeline/engine/node.h"
#include "dataset/pipeline/engine/stage.h"
#include "dataset/pipeline/engine/stage_context.h"
#include "python/native/gil.h"
#include "python/native/interrupt.h"
#include "recordpipe/options.h"

namespace recordpipe::python {

// A stage that one thread uses at a time.
struct Elements::Reader {
  Reader(const internal::Node& node, uint64_t epoch)
      : context(internal::make_stage_context({.threads = 1})),
        stage(node.make_stage(context)),
        producer(stage.work->make_producer()),
        values(node.element()) {
    stage.plan->restart(epoch);
  }

  const internal::StageContext context;
  internal::Stage stage;
  std::unique_ptr<internal::Producer> producer;
  internal::ElementBuffer values;
  std::vector<internal::Ticket> tickets;
  uint64_t size = 0;
};

Elements::Elements(const PythonDataset& dataset, uint64_t epoch)
    : epoch_(epoch), spec_(dataset.spec()) {
  if (dataset.rows()) {
    dataset.visit_drawn([&]<class T>(const Dataset<T>& rows) {
      node_ = rows.node();
      convert_ = [this](void* element) {
        return parsed([&](ParsedBatch& row) {
          spec_->collator.set(row, 0, std::move(*static_cast<T*>(element)));
        });
      };
    });
  } else {
    dataset.visit([&]<class T>(const Dataset<T>& elements) {
      node_ = elements.node();
      if constexpr (std::is_same_v<T, Record>) {
        convert_ = [](void* element) -> nb::object {
          const Record& record = *static_cast<Record*>(element);
          return nb::bytes(record.data.data(), record.data.size());
        };
      } else if constexpr (std::is_same_v<T, PythonObject>) {
        convert_ = [](void* element) { return static_cast<PythonObject*>(element)->get(); };
      }  // others are batches, which have no random access
    });
  }
  const std::string sequential = node_->sequential_operator();
  if (sequential.empty()) return;
  const std::string reason =
      "elements by number need random access, which " + sequential + " does not have; use skip(n)";
  throw nb::type_error(reason.c_str());
}

Elements::~Elements() = default;

void Elements::forget_readers() {
  (void)internal::renew(mutex_);
  for (std::unique_ptr<Reader>& reader : spare_) (void)reader.release();
  spare_.clear();
}

std::unique_ptr<Elements::Reader> Elements::take_reader() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      std::unique_ptr<Reader> reader = std::move(spare_.back());
      spare_.pop_back();
      return reader;
    }
  }
  return interruptible([&](const std::stop_token& stop) {
    auto reader = std::make_unique<Reader>(*node_, epoch_);
    const std::stop_callback stopping(stop, [&] { reader->stage.plan->request_stop(); });
    reader->size = reader->stage.plan->size();  // opens the files
    return reader;
  });
}

void Elements::give_back(std::unique_ptr<Reader> reader) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(reader));
}

uint64_t Elements::size() {
  std::unique_ptr<Reader> reader = take_reader();
  const uint64_t size = reader->size;
  give_back(std::move(reader));
  return size;
}

nb::list Elements::get(const std::vector<uint64_t>& numbers) {
  std::unique_ptr<Reader> reader = take_reader();  // is dropped after an error
  internal::Failures failures;
  {
    const GilRelease no_gil;
    reader->tickets.resize(numbers.size());
    reader->values.grow(numbers.size());
    reader->stage.plan->tickets_at(numbers, reader->tickets);
    failures = reader->producer->produce(reader->tickets, reader->values.data());
  }
  if (!failures.empty()) {
    const std::exception_ptr error = std::exchange(failures.front().error, nullptr);
    std::rethrow_exception(error);
  }
  nb::list list;
  for (size_t i = 0; i < numbers.size(); ++i) list.append(convert_(reader->values.at(i)));
  give_back(std::move(reader));
  return list;
}

nb::object Elements::parsed(const std::function<void(ParsedBatch&)>& set) {
  std::unique_ptr<ParsedBatch> lent;
  {
    const GilRelease no_gil;
    lent = pool_->take();
    try {
      spec_->collator.reset(*lent, 1);
      set(*lent);
      spec_->collator.finish(*lent);
    } catch (...) {
      pool_->give_back(std::move(lent));
      throw;
    }
  }
  return to_python(std::move(lent), pool_, *spec_, true);
}

}  // namespace recordpipe::python
