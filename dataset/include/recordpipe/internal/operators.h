// The operators behind Dataset's members: each adds a Node, a description that does nothing until
// it is iterated, to what it is given. dataset.h says what they do and what they throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/internal/element_ops.h"
#include "recordpipe/internal/functions.h"
#include "recordpipe/internal/tuple_ops.h"
#include "recordpipe/parameter.h"

namespace recordpipe {

class FileSystem;
struct CacheOptions;
struct IgnoreErrorsOptions;

namespace internal {

class Node;
using NodePtr = std::shared_ptr<const Node>;

// How many operators up to this one draw random numbers: keeps the streams of two with the same
// seed apart.
uint64_t random_operators(const NodePtr& node);
std::string explain(const NodePtr& node);
uint64_t plan_hash(const NodePtr& node);

NodePtr indexed(std::string name, std::vector<Parameter> parameters,
                std::shared_ptr<const IndexedValues> values, const ElementOps& element);
NodePtr from_generator(std::unique_ptr<const GeneratorFunction> function,
                       const ElementOps& element);

// `seed`: of map_with_random.
NodePtr map(NodePtr input, std::unique_ptr<const MapFunction> function, const ElementOps& output,
            std::optional<uint64_t> seed);
NodePtr filter(NodePtr input, std::unique_ptr<const Predicate> predicate);
// `function` makes vectors of the elements.
NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector);
NodePtr unbatch(NodePtr input);
// `function` makes NodePtrs, of datasets of `element`s. Where there is nothing to take turns it is
// called flat_map.
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
NodePtr shard(NodePtr input, size_t num_shards, size_t index, bool drop_remainder);
NodePtr enumerate(NodePtr input, int64_t start, const PairOps& pair);
NodePtr zip(std::vector<NodePtr> inputs, const TupleOps& tuple);
NodePtr repeat(NodePtr input, int64_t count);
NodePtr take(NodePtr input, uint64_t count);
NodePtr skip(NodePtr input, uint64_t count);
NodePtr batch(NodePtr input, size_t batch_size, bool drop_remainder,
              std::unique_ptr<const BatchFunction> collator, const ElementOps& batch);
// `vector` of the input's elements, which `copy` copies.
NodePtr window(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElements copy,
               const ElementOps& vector);
NodePtr cache(NodePtr input, const CacheOptions& options, CopyElements copy);
NodePtr file_cache(NodePtr input, FileSystem& file_system, std::string path,
                   std::unique_ptr<const ElementCodec> codec);
NodePtr prefetch(NodePtr input, size_t buffer_size);

}  // namespace internal
}  // namespace recordpipe
