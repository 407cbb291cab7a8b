// Operators that keep the elements: those of the C++ Dataset.
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>

#include "python/native/dataset/operators.h"
#include "python/native/files/file_path.h"
#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

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

// Behind a pending parse, computes each row first, to see whether it fails.
PythonDataset without_errors(Self self, uint64_t max_count, double max_rate) {
  const IgnoreErrorsOptions limits{.max_count = max_count, .max_rate = max_rate};
  if (self.rows()) {
    const auto tried = [&](const auto& elements) {
      // An unlisted feature is an error of the schema, for which no record is left out.
      const TryParse attempt{self.spec()->unwatched_collator()};
      return PythonDataset(elements.map(attempt).ignore_errors(limits), self.spec());
    };
    if (const auto* steps = std::get_if<Dataset<rlds::Step>>(&self.elements()))
      return tried(*steps);
    return tried(std::get<Dataset<Record>>(self.elements()));
  }
  return self.reorder([&](const auto& elements) { return elements.ignore_errors(limits); });
}

PythonDataset cached(Self self, const std::optional<FilePath>& path, uint64_t max_bytes) {
  if (!path) {
    return self.reorder([&](const auto& d) { return d.cache({.max_bytes = max_bytes}); });
  }
  if (const auto* records = std::get_if<Dataset<Record>>(&self.elements())) {
    return PythonDataset(records->cache(path->bytes), self.spec());
  }
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "a cache file keeps records, not Python objects or batches",
               .hint = "call cache(path) before map and batch, or cache() in memory"});
}

}  // namespace

void define_order_operators(DatasetClass& dataset) {
  dataset.def("cache", &cached)
      .def("ignore_errors", &without_errors)
      .def("shuffle",
           [](Self self, size_t buffer_size, uint64_t seed) {
             return self.reorder([&](const auto& d) { return d.shuffle(buffer_size, seed); });
           })
      .def("global_shuffle",
           [](Self self, uint64_t seed) {
             return self.reorder([&](const auto& d) { return d.global_shuffle(seed); });
           })
      .def("repeat",
           [](Self self, int64_t count) {
             return self.reorder([&](const auto& d) { return d.repeat(count); });
           })
      .def("take",
           [](Self self, uint64_t count) {
             return self.reorder([&](const auto& d) { return d.take(count); });
           })
      .def("skip",
           [](Self self, uint64_t count) {
             return self.reorder([&](const auto& d) { return d.skip(count); });
           })
      .def("shard",
           [](Self self, size_t num_shards, size_t index, bool drop_remainder) {
             return self.reorder(
                 [&](const auto& d) { return d.shard(num_shards, index, drop(drop_remainder)); });
           })
      .def("prefetch",
           [](Self self, std::optional<size_t> size) {
             return self.reorder(
                 [&](const auto& d) { return d.prefetch(size.value_or(kAutotune)); });
           })
      .def("with_options",
           [](Self self, size_t threads, size_t chunk_size, uint64_t memory_limit) {
             PipelineOptions options;
             options.threads = threads;
             options.chunk_size = chunk_size;
             options.memory_limit = memory_limit;
             return self.reorder([&](const auto& d) { return d.with_options(options); });
           })
      .def("epoch", [](Self self, uint64_t epoch) {
        return self.reorder([&](const auto& d) { return d.epoch(epoch); });
      });
}

}  // namespace recordpipe::python
