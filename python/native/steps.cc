#include "python/native/steps.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/native/dataset.h"
#include "python/native/file_path.h"
#include "python/native/gil.h"
#include "python/native/interrupt.h"
#include "python/native/lease.h"
#include "recordpipe/rlds/load.h"

namespace recordpipe::python {
namespace {

namespace nb = nanobind;

using Names = std::vector<std::pair<std::string, std::string>>;
using Offsets = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// The rows of steps, of files that are open already.
PythonDataset dataset_of(const std::shared_ptr<const rlds::StepReader>& reader) {
  return PythonDataset(rlds::steps(reader),
                       std::make_shared<const ParseSpec>(step_spec(rlds::StepCollator(reader))));
}

PythonDataset steps(const FilePath& folder, const std::string& split, Names features,
                    Offsets offsets, bool zero) {
  return interruptible([&](std::stop_token stop) {
    return dataset_of(rlds::open_steps(
        folder.bytes, split,
        {.features = features, .offsets = offsets, .pad = zero ? rlds::Pad::zero : rlds::Pad::edge},
        {.stop = std::move(stop)}));
  });
}

// Rows by number: dataset[i]. Thread-safe.
class StepRows {
 public:
  explicit StepRows(const PythonDataset& dataset) : spec_(dataset.spec()) {}

  uint64_t size() const { return collator().reader().files().steps(); }
  nb::object get(const std::vector<uint64_t>& numbers, bool single) const {
    std::unique_ptr<ParsedBatch> lent;
    {
      const GilRelease no_gil;
      lent = pool_->take();
      try {
        spec_->collator.reset(*lent, numbers.size());
        for (size_t row = 0; row < numbers.size(); ++row) {
          spec_->collator.set(*lent, row, {collator().shared_reader(), numbers[row]});
        }
        spec_->collator.finish(*lent);
      } catch (...) {
        pool_->give_back(std::move(lent));
        throw;
      }
    }
    return to_python(std::move(lent), pool_, *spec_, single);
  }

 private:
  const rlds::StepCollator& collator() const { return *spec_->collator.steps(); }

  std::shared_ptr<const ParseSpec> spec_;
  std::shared_ptr<LeasePool> pool_ = std::make_shared<LeasePool>();
};

}  // namespace

void define_steps(nb::module_& module) {
  module.def("steps", &steps);
  nb::class_<StepRows>(module, "StepRows")
      .def(nb::init<const PythonDataset&>())
      .def("__len__", &StepRows::size)
      .def("get", &StepRows::get);
}

}  // namespace recordpipe::python
