// The Dataset of the Python module: a C++ Dataset whose elements are records, batches or Python
// objects.
//
// Operators that only order elements are those of the C++ Dataset. Only functions in Python turn
// elements into Python objects.
//
// The rule "parse fuses into batch": parse() computes nothing. It is a ParseSpec beside the
// records, which image operators change, and which becomes the collator of batch(). Where no
// batch() follows, computed() applies it to one record at a time. (The other rule for plans, "a
// shard that comes last", is in recordpipe/_plan/plan.py.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/native/dataset/parse_spec.h"
#include "python/native/values/python_object.h"
#include "recordpipe/pipeline/dataset.h"

namespace recordpipe::python {

class PythonDataset {
 public:
  // A dataset of Records or Steps with a ParseSpec yields dicts of the values of one of them; Steps
  // always have one. ImageBatches are those of cifar10_batches().
  using Elements = std::variant<Dataset<Record>, Dataset<rlds::Step>, Dataset<ParsedBatch>,
                                Dataset<ImageBatch>, Dataset<PythonObject>>;

  // `single`: a batch is a row, which Python gets without the batch dimension.
  explicit PythonDataset(Elements elements, std::shared_ptr<const ParseSpec> spec = nullptr,
                         bool single = false)
      : elements_(std::move(elements)), spec_(std::move(spec)), single_(single) {}

  PythonDataset parse(std::shared_ptr<const ParseSpec> spec) const;
  // Changes what parse() makes of a feature of bytes, or of an image.
  PythonDataset with_image(const ImageSpec& image) const;
  // The spec of records with a pending parse. Throws Error{invalid_argument} for other elements.
  const ParseSpec& pending_spec() const;
  // The batches of records or steps with a pending parse.
  PythonDataset parsed(size_t batch_size, DropRemainder remainder) const;

  // Returns the same elements in another order: change(Dataset<T>) -> Dataset<T>.
  template <class Change>
  PythonDataset reorder(const Change& change) const {
    return std::visit(
        [&](const auto& elements) {
          return PythonDataset(Elements(change(elements)), spec_, single_);
        },
        elements_);
  }
  // Calls visit(Dataset<T>).
  template <class Visit>
  auto visit(const Visit& visit) const {
    return std::visit(visit, elements_);
  }
  // The same with the records or steps of a pending parse, whose images have drawn their numbers.
  template <class Visit>
  auto visit_drawn(const Visit& visit) const {
    if (const auto* steps = std::get_if<Dataset<rlds::Step>>(&elements_)) {
      return visit(rlds::draw_images(*steps, *spec_->collator.steps()));
    }
    return visit_drawn_records(visit);
  }
  // A Dataset<Record>, or, if images have random distortions, a Dataset<DrawnRecord>.
  template <class Visit>
  auto visit_drawn_records(const Visit& visit) const {
    const auto& records = std::get<Dataset<Record>>(elements_);
    if (spec_->collator.images().empty()) return visit(records);
    return visit(draw_images(records, spec_->collator.images()));
  }
  const Elements& elements() const { return elements_; }
  const std::shared_ptr<const ParseSpec>& spec() const { return spec_; }

  // What an iterator runs: without pending parse.
  PythonDataset computed() const;
  // A hash of the operators, their parameters and functions.
  uint64_t plan_hash() const;
  // Whether elements are dicts of single records or steps.
  bool rows() const {
    return spec_ && (std::holds_alternative<Dataset<Record>>(elements_) ||
                     std::holds_alternative<Dataset<rlds::Step>>(elements_));
  }
  // Whether elements are what computed() makes of rows().
  bool single() const { return single_; }
  Dataset<PythonObject> objects() const;
  // Whether elements are single steps of episodes.
  bool has_steps() const { return std::holds_alternative<Dataset<rlds::Step>>(elements_); }

 private:
  Elements elements_;
  std::shared_ptr<const ParseSpec> spec_;
  bool single_;
};

}  // namespace recordpipe::python
