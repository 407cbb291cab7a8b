#include "python/native/dataset/dataset.h"

#include <span>

#include "dataset/base/require.h"
#include "python/native/dataset/operators.h"
#include "python/native/interpreter/python_function.h"
#include "python/native/iterate/lease.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {
namespace {

// The record shares the memory of the bytes.
Record to_record(PythonObject object) {
  const nb::object value = object.get();
  if (!nb::isinstance<nb::bytes>(value)) {
    refuse_type("parse() needs the bytes of a record, not %.100S", value);
  }
  const nb::bytes bytes(value);
  const auto* const data = static_cast<const std::byte*>(bytes.data());
  const auto owner = std::make_shared<const PythonObject>(std::move(object));
  const Origin& origin = owner->origin();
  return {.data = {data, bytes.size()},
          .offset = origin.offset,
          .path = origin.path ? std::string_view(*origin.path) : std::string_view(),
          .owner = std::shared_ptr<const std::byte[]>(owner, data),
          .number = origin.number};
}

class RecordsToPython final : public extension::MapFunction {
 public:
  void apply(std::span<const extension::Ticket> tickets, void* inputs, void* outputs,
             extension::Failures& failures) const override {
    const auto* const in = static_cast<const Record*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    std::shared_ptr<const std::string> path;
    visit_each(tickets, tickets.size(), in, failures,
               [&](size_t i) { out[i] = to_python(in[i], path); });
  }
  std::vector<Parameter> parameters() const override { return {}; }
};

// `Batch` is ParsedBatch or ImageBatch.
template <class Batch>
class BatchesToPython final : public extension::MapFunction {
 public:
  BatchesToPython(std::shared_ptr<const ParseSpec> spec, bool single)
      : spec_(std::move(spec)), single_(single) {}
  ~BatchesToPython() override { pool_->close(); }

  void apply(std::span<const extension::Ticket> tickets, void* inputs, void* outputs,
             extension::Failures& failures) const override {
    auto* const in = static_cast<Batch*>(inputs);
    auto* const out = static_cast<PythonObject*>(outputs);
    visit_each(tickets, tickets.size(), in, failures, [&](size_t i) {
      Origin origin;
      if constexpr (std::is_same_v<Batch, ParsedBatch>) origin = std::move(in[i].origin);
      out[i] =
          PythonObject(to_python(pool_->lend(in[i], spec_->has_masks()), pool_, *spec_, single_),
                       std::move(origin));
    });
  }
  std::vector<Parameter> parameters() const override { return {}; }

 private:
  std::shared_ptr<const ParseSpec> spec_;
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
  bool single_;
};

}  // namespace

PythonDataset PythonDataset::parse(std::shared_ptr<const ParseSpec> spec) const {
  if (spec_) {
    const bool is_tfds = spec_->collator.tfds() != nullptr;
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = is_tfds ? "tfds() has parsed the records already" : "parse() comes only once"});
  }
  if (const auto* objects = std::get_if<Dataset<PythonObject>>(&elements_)) {
    // Bytes, perhaps: of interleave(tfrecords), or of a function that unpacks records.
    return PythonDataset(
        mapped<Record>(*objects,
                       make_map<PythonObject, Record>(
                           {}, [](PythonObject& in, Record& out,
                                  const extension::Ticket&) { out = to_record(std::move(in)); })),
        std::move(spec));
  }
  require(std::holds_alternative<Dataset<Record>>(elements_), "parse() needs the bytes of records",
          "call it before batch and other operators that change elements");
  return PythonDataset(elements_, std::move(spec));
}

const ParseSpec& PythonDataset::pending_spec() const {
  require(rows(), "image operators need the features of parse(), steps() or tfds()",
          "call them after it, and before map, batch and other operators that change elements");
  return *spec_;
}

PythonDataset PythonDataset::with_image(const ImageSpec& image) const {
  return PythonDataset(elements_, std::make_shared<ParseSpec>(pending_spec().with_image(image)));
}

PythonDataset PythonDataset::parsed(size_t batch_size, DropRemainder remainder) const {
  return visit_drawn([&](const auto& rows) {
    return PythonDataset(rows.batch(batch_size, remainder, spec_->collator), spec_);
  });
}

PythonDataset PythonDataset::computed() const {
  if (!rows()) return *this;
  return PythonDataset(parsed(1, DropRemainder::no).elements_, spec_, /*single=*/true);
}

Dataset<PythonObject> PythonDataset::objects() const {
  if (const auto* objects = std::get_if<Dataset<PythonObject>>(&elements_)) return *objects;
  if (!spec_)
    return mapped(std::get<Dataset<Record>>(elements_), std::make_unique<RecordsToPython>());
  if (const auto* images = std::get_if<Dataset<ImageBatch>>(&elements_)) {
    return mapped(*images, std::make_unique<BatchesToPython<ImageBatch>>(spec_, /*single=*/false));
  }
  const PythonDataset batches = computed();
  return mapped(std::get<Dataset<ParsedBatch>>(batches.elements_),
                std::make_unique<BatchesToPython<ParsedBatch>>(spec_, batches.single_));
}

uint64_t PythonDataset::plan_hash() const {
  return computed().visit([](const auto& elements) { return elements.plan_hash(); });
}

}  // namespace recordpipe::python
