// Operators that make one element of several: of a pending parse, its batches; of other elements,
// what a function makes of a list of them.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dataset/base/require.h"
#include "python/native/dataset/operators.h"
#include "python/native/dataset/sequence_sizes.h"
#include "recordpipe/pipeline/extension.h"

namespace recordpipe::python {
namespace {

using Objects = std::vector<PythonObject>;

std::unique_ptr<extension::BatchFunction> collect_objects() {
  using Collator = VectorCollator<PythonObject>;
  return std::make_unique<extension::Collate<PythonObject, Collator>>(Collator());
}

// function(element) -> a length, or as many lengths as `count`.
class PythonSizes final : public extension::MeasureFunction {
 public:
  PythonSizes(PythonFunction function, size_t count)
      : function_(std::move(function)), count_(count) {}
  size_t sizes_per_element() const override { return count_; }
  void measure(size_t count, const void* values, uint64_t* sizes,
               extension::Failures& failures) const override {
    const auto* const in = static_cast<const PythonObject*>(values);
    visit_each({}, count, in, failures, [&](size_t i) {
      const nb::object result = function_(in[i].get());
      uint64_t* const out = sizes + i * count_;
      if (PyIndex_Check(result.ptr())) {
        *out = length_of(result);
        return;
      }
      size_t at = 0;
      for (const nb::handle size : result) {
        if (at < count_) out[at] = length_of(size);
        ++at;
      }
      if (at != count_) internal::fail_number_of_sizes(at, count_);
    });
  }
  std::vector<Parameter> parameters() const override { return function_.parameters(); }

 private:
  static uint64_t length_of(nb::handle number) {
    const int64_t value = to_integer(number);
    if (value < 0) internal::fail_negative_size();
    return static_cast<uint64_t>(value);
  }

  PythonFunction function_;
  size_t count_;
};

PythonDataset batched(Self self, size_t batch_size, bool drop_remainder, PythonFunction stack) {
  if (self.rows()) return self.parsed(batch_size, drop(drop_remainder));
  return collected(self.objects().batch(batch_size, drop(drop_remainder)), std::move(stack));
}

PythonDataset windows(Self self, size_t size, std::optional<size_t> shift, bool drop_remainder,
                      nb::object collect) {
  return collected(self.objects().window(size, shift, drop(drop_remainder)),
                   {shared(std::move(collect))});
}

// An element longer than `most` is an error.
PythonDataset feature_buckets(Self self, const std::string& feature, std::vector<size_t> boundaries,
                              std::vector<size_t> batch_sizes, bool drop_remainder,
                              std::optional<size_t> most) {
  const LengthBuckets buckets{std::move(boundaries), std::move(batch_sizes), drop_remainder};
  const ParseCollator& collator = self.pending_spec().collator;
  const FeatureSizes length(self.pending_spec(), {feature});
  const auto batches = [&]<class T>(const Dataset<T>& records) {
    return extension::dataset<ParsedBatch>(
        records, extension::bucket_by_sequence_length(
                     extension::node(records),
                     std::make_unique<extension::Measure<T, FeatureSizes>>(length, 1), buckets,
                     most, std::make_unique<extension::Collate<T, ParseCollator>>(collator),
                     extension::element_ops<ParsedBatch>()));
  };
  return PythonDataset(self.visit_drawn_records(batches), self.spec());
}

PythonDataset object_buckets(Self self, PythonFunction length, std::vector<size_t> boundaries,
                             std::vector<size_t> batch_sizes, bool drop_remainder,
                             std::optional<size_t> most, nb::object stack) {
  const LengthBuckets buckets{std::move(boundaries), std::move(batch_sizes), drop_remainder};
  const Dataset<PythonObject> input = self.objects();
  return collected(
      extension::dataset<Objects>(
          input, extension::bucket_by_sequence_length(
                     extension::node(input), std::make_unique<PythonSizes>(std::move(length), 1),
                     buckets, most, collect_objects(), extension::element_ops<Objects>())),
      {shared(std::move(stack))});
}

PackOptions packing(size_t open_rows, bool truncate) {
  return {.open_rows = open_rows, .too_long = truncate ? TooLong::truncate : TooLong::error};
}

PythonDataset packed_features(Self self, const std::vector<std::string>& features,
                              const std::vector<size_t>& lengths, size_t open_rows, bool truncate) {
  const ParseSpec& all = self.pending_spec();
  require(all.outputs.size() == features.size(),
          "pack_sequences: " + std::to_string(all.outputs.size()) +
              " features, and the lengths of " + std::to_string(features.size()),
          "parse() only the features that are packed");
  auto spec = std::make_shared<const ParseSpec>(only_features(all, features));
  const auto& records = std::get<Dataset<Record>>(self.elements());
  return PythonDataset(records.pack_sequences(FeatureSizes(*spec, features), lengths,
                                              spec->collator, packing(open_rows, truncate)),
                       spec);
}

PythonDataset packed_objects(Self self, PythonFunction sizes, const std::vector<size_t>& lengths,
                             size_t open_rows, bool truncate, nb::object pack) {
  const Dataset<PythonObject> input = self.objects();
  auto measure = std::make_unique<PythonSizes>(std::move(sizes), lengths.size());
  return collected(
      extension::dataset<Objects>(
          input, extension::pack_sequences(extension::node(input), std::move(measure), lengths,
                                           packing(open_rows, truncate), collect_objects(),
                                           extension::element_ops<Objects>())),
      {shared(std::move(pack))});
}

}  // namespace

PythonDataset collected(const Dataset<Objects>& vectors, PythonFunction collect) {
  std::vector<Parameter> parameters = collect.parameters();
  auto call = [collect = std::move(collect)](const Objects& in, PythonObject& out,
                                             const extension::Ticket&) {
    nb::list rows;
    for (const PythonObject& row : in) rows.append(row.get());
    out = PythonObject(collect(rows));
  };
  return PythonDataset(
      mapped(vectors, make_map<Objects, PythonObject>(std::move(parameters), std::move(call))));
}

void define_grouping_operators(DatasetClass& dataset) {
  dataset.def("batch", &batched)
      .def("window", &windows)
      .def("bucket_features", &feature_buckets)
      .def("bucket", &object_buckets)
      .def("pack_features", &packed_features)
      .def("pack", &packed_objects);
}

}  // namespace recordpipe::python
