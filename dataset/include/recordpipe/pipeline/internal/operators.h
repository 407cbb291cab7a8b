// Declares the operators behind Dataset's members. Each function adds a Node to its input: a
// description that is executed only during iteration. dataset.h documents semantics and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/cardinality.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/functions.h"

namespace recordpipe {

class FileSystem;
struct CacheOptions;
struct IgnoreErrorsOptions;
struct LengthBuckets;
struct PackOptions;

namespace internal {

class Node;
using NodePtr = std::shared_ptr<const Node>;

// The number of operators up to this node that draw random numbers; it separates the streams of
// operators with the same seed.
uint64_t random_operators(const NodePtr& node);
std::string explain(const NodePtr& node);
uint64_t plan_hash(const NodePtr& node);
// What the functions of operators have reported as left out of the plan's hash.
std::vector<std::string> not_compared(const NodePtr& node);
Cardinality cardinality(const NodePtr& node);

// Files that a source reads, or whose names it yields: a saved state compares them.
struct SourceFiles {
  FileSystem* file_system = nullptr;
  std::vector<std::string> paths = {};
};
NodePtr indexed(std::string name, std::vector<Parameter> parameters,
                std::shared_ptr<const IndexedValues> values, const ElementOps& element,
                SourceFiles files = {});
NodePtr from_generator(std::unique_ptr<const GeneratorFunction> function,
                       const ElementOps& element);

// `seed` is set for map_with_random only.
NodePtr map(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& output,
            std::optional<uint64_t> seed);
NodePtr filter(NodePtr input, std::unique_ptr<const Predicate> predicate);
// `function` returns vectors of output elements.
NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector);
// What follows the elements of a vector, for bindings to languages where the type of a result is
// known only when it is there.
struct FlatMapRest {
  NodePtr dataset = {};           // of elements of the vector's type; null: none
  uint64_t epoch = 0;             // of the dataset
  std::exception_ptr error = {};  // the end: the elements after it are lost
};

// Returns the rest that belongs to a vector.
using FlatMapRestOf = FlatMapRest* (*)(void* vector);

// The elements of a dataset are not collected: it is read on, as by interleave.
NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector, FlatMapRestOf rest_of);
NodePtr unbatch(NodePtr input);
// `function` returns NodePtrs: datasets of `element`s. `name` is "flat_map" if the datasets are
// read one after another.
NodePtr interleave(NodePtr input, std::unique_ptr<const MapFunction> function,
                   const ElementOps& element, std::string name, size_t cycle_length,
                   size_t block_length);
NodePtr scan(NodePtr input, std::unique_ptr<const ScanFunction> function, const ElementOps& output);
NodePtr ignore_errors(NodePtr input, const IgnoreErrorsOptions& options);
NodePtr shuffle(NodePtr input, size_t buffer_size, uint64_t seed);
NodePtr global_shuffle(NodePtr input, uint64_t seed);
NodePtr concatenate(std::vector<NodePtr> inputs);
NodePtr sample(std::vector<NodePtr> inputs, std::vector<double> weights, uint64_t seed,
               bool stop_on_empty);
// `choices` is a dataset of int64_t.
NodePtr choose(std::vector<NodePtr> inputs, NodePtr choices, bool stop_on_empty);
NodePtr shard(NodePtr input, size_t num_shards, size_t index, bool drop_remainder);
NodePtr enumerate(NodePtr input, int64_t start, const PairOps& pair);
NodePtr zip(std::vector<NodePtr> inputs, const TupleOps& tuple);
NodePtr repeat(NodePtr input, int64_t count);
NodePtr take(NodePtr input, uint64_t count);
NodePtr skip(NodePtr input, uint64_t count);
NodePtr batch(NodePtr input, size_t batch_size, bool drop_remainder,
              std::unique_ptr<const BatchFunction> collator, const ElementOps& batch);
// An element longer than `most` is an error.
NodePtr bucket_by_sequence_length(NodePtr input, std::unique_ptr<const MeasureFunction> length,
                                  const LengthBuckets& buckets, std::optional<size_t> most,
                                  std::unique_ptr<const BatchFunction> collator,
                                  const ElementOps& batch);
// A row has `lengths` values of each feature; `sizes` measures as many.
NodePtr pack_sequences(NodePtr input, std::unique_ptr<const MeasureFunction> sizes,
                       const std::vector<size_t>& lengths, const PackOptions& options,
                       std::unique_ptr<const BatchFunction> collator, const ElementOps& row);
// `vector` describes a vector of the input's elements; `copy` copies these elements.
NodePtr window(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElements copy,
               const ElementOps& vector);
NodePtr cache(NodePtr input, const CacheOptions& options, CopyElements copy);
NodePtr file_cache(NodePtr input, FileSystem& file_system, std::string path,
                   std::unique_ptr<const ElementCodec> codec);
NodePtr prefetch(NodePtr input, size_t buffer_size);

}  // namespace internal
}  // namespace recordpipe
