#include "python/native/dataset/dataset.h"

#include <algorithm>
#include <utility>

#include "python/native/dataset/sequence_sizes.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/extension.h"
#include "recordpipe/pipeline/sample_from_datasets.h"

namespace recordpipe::python {
namespace {

template <class Out = PythonObject, class In>
Dataset<Out> mapped(const Dataset<In>& input, std::unique_ptr<extension::MapFunction> function,
                    std::optional<uint64_t> seed = {}) {
  return extension::dataset<Out>(input, extension::map(extension::node(input), std::move(function),
                                                       extension::element_ops<Out>(), seed));
}

PythonDataset collected(const Dataset<std::vector<PythonObject>>& vectors, PythonFunction collect) {
  return PythonDataset(mapped(vectors, python_collate(std::move(collect))));
}

using Objects = std::vector<PythonObject>;

std::unique_ptr<extension::BatchFunction> collect_objects() {
  using Collator = VectorCollator<PythonObject>;
  return std::make_unique<extension::Collate<PythonObject, Collator>>(Collator());
}

DropRemainder drop(bool remainder) { return remainder ? DropRemainder::yes : DropRemainder::no; }

// Throws what a batch of the record or step would throw, or returns it.
struct TryParse {
  ParseCollator collator;

  rlds::Step operator()(rlds::Step step) const {
    return collator.steps()->checked(std::move(step));
  }
  Record operator()(Record record) const {
    thread_local ParsedBatch row;
    if (const tfds::ExamplesCollator* of_tfds = collator.tfds()) {
      return of_tfds->checked(std::move(record));
    }
    if (const ExampleImagesCollator* examples = collator.examples()) {
      if (!examples->images().empty()) return examples->checked(std::move(record));
    }
    collator.reset(row, 1);
    collator.set(row, 0, record);
    collator.finish(row);
    return record;
  }
  std::vector<Parameter> parameters() const { return collator.parameters(); }
};

// One step of scan: (state, element) -> state and output.
struct ScanStep {
  PythonFunction function;
  PythonObject initial;

  std::pair<PythonObject, PythonObject> operator()(const PythonObject& state,
                                                   const PythonObject& element) const {
    const GilScope gil;
    try {
      const nb::object before =
          state.get() ? state.get() : nb::module_::import_("copy").attr("deepcopy")(initial.get());
      const nb::object result = function.function->get()(before, element.get());
      if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 2) {
        PyErr_SetString(PyExc_TypeError, "scan: the function returns a tuple (state, output)");
        throw nb::python_error();
      }
      return {PythonObject(result[0]), PythonObject(result[1], element.origin())};
    } catch (nb::python_error& error) {
      throw_raised(error, record_note(element.origin()));
    }
  }
  std::vector<Parameter> parameters() const { return function.parameters(); }
};

bool equal_specs(const ParseSpec* a, const ParseSpec* b) {
  if (!a || !b) return a == b;
  const rlds::StepCollator* const steps_a = a->collator.steps();
  const rlds::StepCollator* const steps_b = b->collator.steps();
  if (!steps_a != !steps_b) return false;
  if (steps_a && !steps_a->reader().fits(steps_b->reader())) return false;
  const std::vector<Parameter> of_a = a->collator.parameters();
  const std::vector<Parameter> of_b = b->collator.parameters();
  if (of_a.size() != of_b.size() || a->outputs != b->outputs ||
      a->feature_lists != b->feature_lists || !a->unlisted != !b->unlisted ||
      (a->unlisted && a->unlisted->options().answer != b->unlisted->options().answer)) {
    return false;
  }
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i].name != of_b[i].name || of_a[i].value != of_b[i].value) return false;
  }
  return true;
}

bool same_elements(const PythonDataset& a, const PythonDataset& b) {
  return a.elements().index() == b.elements().index() && a.single() == b.single() &&
         equal_specs(a.spec().get(), b.spec().get());
}

StopOnEmptyDataset stop(bool on_empty) {
  return on_empty ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no;
}

// Calls merge() with the datasets; they become objects if their elements differ.
template <class Merge>
PythonDataset merged(const std::vector<PythonDataset>& datasets, const char* name,
                     const Merge& merge) {
  if (datasets.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string(name) + " needs at least one dataset"});
  }
  if (!PythonDataset::have_same_elements(datasets)) {
    std::vector<Dataset<PythonObject>> inputs;
    for (const PythonDataset& dataset : datasets) inputs.push_back(dataset.objects());
    return PythonDataset(merge(inputs));
  }
  return datasets.front().reorder([&]<class T>(const Dataset<T>&) {
    std::vector<Dataset<T>> inputs;
    for (const PythonDataset& dataset : datasets) {
      inputs.push_back(std::get<Dataset<T>>(dataset.elements()));
    }
    return merge(inputs);
  });
}

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
    return PythonDataset(mapped<Record>(*objects, python_to_records()), std::move(spec));
  }
  if (!std::holds_alternative<Dataset<Record>>(elements_)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "parse() needs the bytes of records",
                 .hint = "call it before batch and other operators that change elements"});
  }
  return PythonDataset(elements_, std::move(spec));
}

const ParseSpec& PythonDataset::pending_spec() const {
  if (!rows()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "image operators need the features of parse()",
                 .hint = "call them after parse(), and before map, batch and other operators "
                         "that change elements"});
  }
  return *spec_;
}

PythonDataset PythonDataset::with_image(const ImageSpec& image) const {
  return PythonDataset(elements_, std::make_shared<ParseSpec>(pending_spec().with_image(image)));
}

Dataset<ParsedBatch> PythonDataset::parsed(size_t batch_size, DropRemainder remainder) const {
  return visit_drawn(
      [&](const auto& rows) { return rows.batch(batch_size, remainder, spec_->collator); });
}

PythonDataset PythonDataset::batch(size_t batch_size, bool drop_remainder,
                                   PythonFunction stack) const {
  if (rows()) return PythonDataset(parsed(batch_size, drop(drop_remainder)), spec_);
  return collected(objects().batch(batch_size, drop(drop_remainder)), std::move(stack));
}

PythonDataset PythonDataset::bucket_by_sequence_length(const std::string& feature,
                                                       const LengthBuckets& buckets,
                                                       std::optional<size_t> most) const {
  const FeatureSizes length(pending_spec(), {feature});
  const auto batches = [&]<class T>(const Dataset<T>& records) {
    return extension::dataset<ParsedBatch>(
        records, extension::bucket_by_sequence_length(
                     extension::node(records),
                     std::make_unique<extension::Measure<T, FeatureSizes>>(length, 1), buckets,
                     most, std::make_unique<extension::Collate<T, ParseCollator>>(spec_->collator),
                     extension::element_ops<ParsedBatch>()));
  };
  return PythonDataset(visit_drawn_records(batches), spec_);
}

PythonDataset PythonDataset::bucket_by_sequence_length(PythonFunction length,
                                                       const LengthBuckets& buckets,
                                                       std::optional<size_t> most,
                                                       SharedObject stack) const {
  const Dataset<PythonObject> input = objects();
  return collected(
      extension::dataset<Objects>(
          input, extension::bucket_by_sequence_length(
                     extension::node(input), python_sizes(std::move(length), 1), buckets, most,
                     collect_objects(), extension::element_ops<Objects>())),
      {std::move(stack), {}});
}

PythonDataset PythonDataset::pack_sequences(const std::vector<std::string>& features,
                                            const std::vector<size_t>& lengths,
                                            const PackOptions& options) const {
  const ParseSpec& all = pending_spec();
  if (all.outputs.size() != features.size()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "pack_sequences: " + std::to_string(all.outputs.size()) +
                           " features, and the lengths of " + std::to_string(features.size()),
                 .hint = "parse() only the features that are packed"});
  }
  auto spec = std::make_shared<const ParseSpec>(only_features(all, features));
  const auto& records = std::get<Dataset<Record>>(elements_);
  return PythonDataset(
      records.pack_sequences(FeatureSizes(*spec, features), lengths, spec->collator, options),
      spec);
}

PythonDataset PythonDataset::pack_sequences(PythonFunction sizes,
                                            const std::vector<size_t>& lengths,
                                            const PackOptions& options, SharedObject pack) const {
  const Dataset<PythonObject> input = objects();
  return collected(
      extension::dataset<Objects>(
          input, extension::pack_sequences(
                     extension::node(input), python_sizes(std::move(sizes), lengths.size()),
                     lengths, options, collect_objects(), extension::element_ops<Objects>())),
      {std::move(pack), {}});
}

PythonDataset PythonDataset::map(PythonFunction function) const {
  return PythonDataset(mapped(objects(), python_map(std::move(function))));
}

PythonDataset PythonDataset::map_with_random(PythonFunction function, uint64_t seed) const {
  const Dataset<PythonObject> input = objects();
  const uint64_t key = derive_key(seed, extension::random_operators(extension::node(input)));
  return PythonDataset(mapped(input, python_random_map(std::move(function), key), seed));
}

PythonDataset PythonDataset::flat_map(PythonFunction function) const {
  const Dataset<PythonObject> input = objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input, extension::flat_map(extension::node(input), python_flat_map(std::move(function)),
                                 flat_map_result(), rest_of_flat_map)));
}

PythonDataset PythonDataset::filter(PythonFunction predicate) const {
  const Dataset<PythonObject> input = objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input, extension::filter(extension::node(input), python_filter(std::move(predicate)))));
}

PythonDataset PythonDataset::interleave(PythonFunction function, size_t cycle_length,
                                        size_t block_length) const {
  const Dataset<PythonObject> input = objects();
  return PythonDataset(extension::dataset<PythonObject>(
      input, extension::interleave(extension::node(input), python_interleave(std::move(function)),
                                   extension::element_ops<PythonObject>(), "interleave",
                                   cycle_length, block_length)));
}

PythonDataset PythonDataset::scan(nb::object initial_state, PythonFunction function) const {
  // Each pass has its own copy of the initial state, which its function may change in place: no
  // object stands for it.
  return PythonDataset(objects().scan(
      PythonObject(), ScanStep{std::move(function), PythonObject(std::move(initial_state))}));
}

PythonDataset PythonDataset::window(size_t size, std::optional<size_t> shift, bool drop_remainder,
                                    SharedObject collect) const {
  return collected(objects().window(size, shift, drop(drop_remainder)), {std::move(collect), {}});
}

PythonDataset PythonDataset::enumerate(int64_t start) const {
  return PythonDataset(objects().enumerate(start).map([](Enumerated<PythonObject> numbered) {
    const GilScope gil;
    return PythonObject(nb::make_tuple(numbered.first, numbered.second.get()),
                        numbered.second.origin());
  }));
}

PythonDataset PythonDataset::with_origin() const {
  if (!rows() && !single() && !std::holds_alternative<Dataset<Record>>(elements_) &&
      !std::holds_alternative<Dataset<PythonObject>>(elements_)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "with_origin: a batch doesn't come from one record",
                 .hint = "call it before batch()"});
  }
  return PythonDataset(mapped(objects(), python_with_origin()));
}

PythonDataset PythonDataset::zip(const std::vector<PythonDataset>& datasets, SharedObject collect) {
  if (datasets.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "zip needs at least one dataset"});
  }
  using Members = std::vector<PythonObject>;
  static const extension::TupleOps ops{extension::element_ops<Members>(),
                                       [](void* tuple, size_t index) -> void* {
                                         Members& members = *static_cast<Members*>(tuple);
                                         if (members.size() <= index) members.resize(index + 1);
                                         return &members[index];
                                       }};
  std::vector<extension::NodePtr> inputs;
  for (const PythonDataset& dataset : datasets)
    inputs.push_back(extension::node(dataset.objects()));
  return collected(extension::dataset<Members>(datasets.front().objects(),
                                               extension::zip(std::move(inputs), ops)),
                   {std::move(collect), {}});
}

PythonDataset PythonDataset::cache(std::string path) const {
  if (const auto* records = std::get_if<Dataset<Record>>(&elements_)) {
    return PythonDataset(records->cache(std::move(path)), spec_);
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "a cache file keeps records, not Python objects or batches",
               .hint = "call cache(path) before map and batch, or cache() in memory"});
}

PythonDataset PythonDataset::ignore_errors(const IgnoreErrorsOptions& limits) const {
  if (rows()) {
    const auto tried = [&](const auto& elements) {
      // An unlisted feature is an error of the schema, for which no record is left out.
      const TryParse attempt{spec_->unwatched_collator()};
      return PythonDataset(elements.map(attempt).ignore_errors(limits), spec_);
    };
    if (const auto* steps = std::get_if<Dataset<rlds::Step>>(&elements_)) return tried(*steps);
    return tried(std::get<Dataset<Record>>(elements_));
  }
  return reorder([&](const auto& elements) { return elements.ignore_errors(limits); });
}

bool PythonDataset::have_same_elements(const std::vector<PythonDataset>& datasets) {
  return std::ranges::all_of(datasets, [&](const PythonDataset& dataset) {
    return same_elements(datasets.front(), dataset);
  });
}

PythonDataset PythonDataset::concatenate(const PythonDataset& next) const {
  if (!same_elements(*this, next)) {
    return PythonDataset(objects().concatenate(next.objects()));
  }
  return reorder([&]<class T>(const Dataset<T>& elements) {
    return elements.concatenate(std::get<Dataset<T>>(next.elements_));
  });
}

PythonDataset PythonDataset::sample(const std::vector<PythonDataset>& datasets,
                                    std::vector<double> weights, uint64_t seed,
                                    bool stop_on_empty) {
  return merged(datasets, "sample_from_datasets", [&](const auto& inputs) {
    return recordpipe::sample_from_datasets(inputs, std::move(weights), seed, stop(stop_on_empty));
  });
}

PythonDataset PythonDataset::choose(const std::vector<PythonDataset>& datasets,
                                    const PythonDataset& choices, bool stop_on_empty) {
  const Dataset<int64_t> numbers = choices.objects().map([](const PythonObject& choice) {
    const GilScope gil;
    try {
      return to_integer(choice.get());
    } catch (nb::python_error& error) {
      throw_raised(error);
    }
  });
  return merged(datasets, "choose_from_datasets", [&](const auto& inputs) {
    return recordpipe::choose_from_datasets(inputs, numbers, stop(stop_on_empty));
  });
}

PythonDataset PythonDataset::computed() const {
  if (!rows()) return *this;
  return PythonDataset(parsed(1, DropRemainder::no), spec_, /*single=*/true);
}

Dataset<PythonObject> PythonDataset::objects() const {
  if (const auto* objects = std::get_if<Dataset<PythonObject>>(&elements_)) return *objects;
  if (!spec_) return mapped(std::get<Dataset<Record>>(elements_), records_to_python());
  if (const auto* images = std::get_if<Dataset<ImageBatch>>(&elements_)) {
    return mapped(*images, images_to_python(spec_, std::make_shared<LeasePool>()));
  }
  const PythonDataset batches = computed();
  return mapped(std::get<Dataset<ParsedBatch>>(batches.elements_),
                batches_to_python(spec_, std::make_shared<LeasePool>(), batches.single_));
}

uint64_t PythonDataset::plan_hash() const {
  return computed().visit([](const auto& elements) { return elements.plan_hash(); });
}

}  // namespace recordpipe::python
