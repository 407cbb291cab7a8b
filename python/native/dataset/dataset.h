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
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/native/dataset/parse_spec.h"
#include "python/native/interpreter/python_function.h"
#include "python/native/iterate/lease.h"
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
  PythonDataset batch(size_t batch_size, bool drop_remainder, PythonFunction stack) const;

  // Elements become batches. Behind a pending parse, `length` is the name of a feature, and these
  // are the batches of batch(); otherwise `stack` makes an object of a list of elements. An element
  // longer than `most` is an error.
  PythonDataset bucket_by_sequence_length(const std::string& feature, const LengthBuckets& buckets,
                                          std::optional<size_t> most) const;
  PythonDataset bucket_by_sequence_length(PythonFunction length, const LengthBuckets& buckets,
                                          std::optional<size_t> most, SharedObject stack) const;
  // Elements become the sequences of packed rows: batches of these features, or what `pack` makes
  // of a list of elements.
  PythonDataset pack_sequences(const std::vector<std::string>& features,
                               const std::vector<size_t>& lengths,
                               const PackOptions& options) const;
  PythonDataset pack_sequences(PythonFunction sizes, const std::vector<size_t>& lengths,
                               const PackOptions& options, SharedObject pack) const;

  // Elements become Python objects.
  PythonDataset map(PythonFunction function) const;
  PythonDataset map_with_random(PythonFunction function, uint64_t seed) const;
  PythonDataset flat_map(PythonFunction function) const;
  PythonDataset filter(PythonFunction predicate) const;
  PythonDataset interleave(PythonFunction function, size_t cycle_length, size_t block_length) const;
  PythonDataset scan(nb::object initial_state, PythonFunction function) const;
  // `collect` makes an object of a list of elements.
  PythonDataset window(size_t size, std::optional<size_t> shift, bool drop_remainder,
                       SharedObject collect) const;
  PythonDataset enumerate(int64_t start) const;
  PythonDataset with_origin() const;
  static PythonDataset zip(const std::vector<PythonDataset>& datasets, SharedObject collect);
  // Elements that are not plain records have no encoding in a file.
  PythonDataset cache(std::string path) const;

  // Returns the same elements in another order: change(Dataset<T>) -> Dataset<T>.
  template <class Change>
  PythonDataset reorder(const Change& change) const {
    return std::visit(
        [&](const auto& elements) {
          return PythonDataset(Elements(change(elements)), spec_, single_);
        },
        elements_);
  }
  // Behind a pending parse, computes each row first, to see whether it fails.
  PythonDataset ignore_errors(const IgnoreErrorsOptions& limits) const;
  // Whether concatenate(), sample() and choose() keep a pending parse: all have the same one.
  static bool have_same_elements(const std::vector<PythonDataset>& datasets);
  PythonDataset concatenate(const PythonDataset& next) const;
  static PythonDataset sample(const std::vector<PythonDataset>& datasets,
                              std::vector<double> weights, uint64_t seed, bool stop_on_empty);
  // The elements of `choices` are integers.
  static PythonDataset choose(const std::vector<PythonDataset>& datasets,
                              const PythonDataset& choices, bool stop_on_empty);

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
  // A Dataset<Record>, or, if images have random distortions, a Dataset<DrawnRecord>.
  template <class Visit>
  auto visit_drawn_records(const Visit& visit) const {
    const auto& records = std::get<Dataset<Record>>(elements_);
    if (spec_->collator.images().empty()) return visit(records);
    return visit(draw_images(records, spec_->collator.images()));
  }
  // The batches of records with a pending parse.
  Dataset<ParsedBatch> parsed(size_t batch_size, DropRemainder remainder) const;

  Elements elements_;
  std::shared_ptr<const ParseSpec> spec_;
  bool single_;
};

}  // namespace recordpipe::python
