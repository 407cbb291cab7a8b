// Dataset<T>: a description of a pipeline of elements, modelled on tf.data.
//
//     Dataset<Record> records = tfrecord_files({"train.tfrecords"});
//     auto batches = records.shuffle(16'384, /*seed=*/7)
//                        .map(parse)
//                        .batch(128, DropRemainder::yes)
//                        .prefetch(2);
//     for (uint64_t epoch = 0; epoch < 10; ++epoch) {
//       for (const auto& batch : batches.epoch(epoch)) ...
//     }
//
// Sources: tfrecord_files.h, from_vector.h, range.h, from_generator.h.
//
// A Dataset is a lazy, immutable description. It may be copied, shared and iterated any number of
// times, also concurrently. Its operators have the names and semantics of tf.data's operators.
// Additional guarantees:
//
//   - Determinism: the elements, their order and their bytes depend only on the sources, the
//     operators, the seeds and the epoch. They never depend on the thread count, the chunk size,
//     the prefetch depth or timing. Functions passed to map and filter must depend on their
//     arguments only.
//   - Random numbers come from Philox, keyed by the seed, the operator, the epoch and the element's
//     index in its source.
//   - Errors are delivered in order: if an operator or a function throws, the iterator throws that
//     exception after all elements before it, at the same position for any thread count, and again
//     on each further call.
//   - Arguments are checked when an operator is called: one that is out of its documented range
//     throws Error{invalid_argument}. PipelineOptions are checked by iterate() and begin().
//   - Memory is bounded by: the chunks in flight (about 2 + threads at the end of the pipeline, at
//     each prefetch, at each operator that must see values, and in each open input of an
//     interleave, which also holds up to two chunks, or 2 MiB of small elements); the buffers and
//     caches that you request; 8 bytes per record of a memory-mapped file; shuffle buffers: 24
//     bytes per element, plus the element itself if it was computed upstream (after filter,
//     prefetch, or a compressed file); and the elements in buckets and in packed rows that are not
//     full.
//   - Destroying an iterator at any time waits until its running chunks are finished: then no
//     function is running for it. The threads of prefetch are joined; those that compute are shared
//     by all iterators of the process and may outlive them.
//
// Your program compiles only your own functions; everything else is in the library.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/bucket_by_sequence_length.h"
#include "recordpipe/pipeline/cache.h"
#include "recordpipe/pipeline/cache_codec.h"
#include "recordpipe/pipeline/cardinality.h"
#include "recordpipe/pipeline/collator.h"
#include "recordpipe/pipeline/element.h"
#include "recordpipe/pipeline/ignore_errors.h"
#include "recordpipe/pipeline/internal/functions.h"
#include "recordpipe/pipeline/internal/operators.h"
#include "recordpipe/pipeline/iterator.h"
#include "recordpipe/pipeline/options.h"
#include "recordpipe/pipeline/pack_sequences.h"
#include "recordpipe/pipeline/padded_batch.h"

namespace recordpipe {

enum class DropRemainder { no, yes };

// A std::vector of elements.
template <class T>
concept Vector = internal::ElementVector<T>;

// An element of enumerate: the index and the element.
template <Element T>
using Enumerated = std::pair<int64_t, T>;

// The largest allowed num_shards.
inline constexpr size_t kMaxShards = size_t{1} << 16;

template <Element T>
class Dataset;

namespace internal {
// The nodes of Datasets, for operators (pipeline/extension.h).
struct DatasetNode {
  template <class T>
  static const NodePtr& of(const Dataset<T>& dataset) {
    return dataset.node_;
  }
  // A Dataset of `node` with the options and the epoch of `input`.
  template <class U, class T>
  static Dataset<U> with(const Dataset<T>& input, NodePtr node) {
    return Dataset<U>(std::move(node), input.options_, input.epoch_);
  }
  template <class T>
  static Dataset<T> source(NodePtr node) {
    return Dataset<T>(std::move(node), {}, 0);
  }
};
}  // namespace internal

// Made by sources: tfrecord_files(), from_vector(), range(), from_generator(), list_files(), ...
template <Element T>
class Dataset {
 public:
  using value_type = T;

  // Applies function(T) -> U to each element, in parallel; results are in input order. The function
  // is called as const and concurrently, so it must be thread-safe. It may take T by value, T&& or
  // const T&. If the function changes, saved states and caches can't detect the change, unless the
  // function has parameters() (parameter.h). This holds for the functions of all operators. Keeps
  // random access.
  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    return with<U>(internal::map(node_, make_map<U>(std::move(function)),
                                 internal::element_ops<U>(), /*seed=*/{}));
  }

  // Like map, with function(T, Random&) -> U. `random` is the element's own random stream: it does
  // not depend on the thread or the time, and differs in each epoch.
  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&, Random&>>;
    const uint64_t key = derive_key(seed, internal::random_operators(node_));
    auto map = std::make_unique<internal::MapWithRandom<T, U, F>>(std::move(function), key);
    return with<U>(internal::map(node_, std::move(map), internal::element_ops<U>(), seed));
  }

  // Keeps the elements for which predicate(const T&) is true, in order. The predicate runs in
  // parallel and must be thread-safe.
  template <std::predicate<const T&> P>
  Dataset filter(P predicate) const {
    return with<T>(
        internal::filter(node_, std::make_unique<internal::Filter<T, P>>(std::move(predicate))));
  }

  // Concatenates the elements of function(T) -> std::vector<U> or Dataset<U>. The options and
  // epochs of the returned datasets are ignored.
  template <class F>
  auto flat_map(F function) const {
    using Result = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    if constexpr (Vector<Result>) {
      using U = internal::vector_element_t<Result>;
      return with<U>(internal::flat_map(node_, make_map<Result>(std::move(function)),
                                        internal::element_ops<Result>()));
    } else {
      return open_each<Result>("flat_map", 1, 1, std::move(function));
    }
  }

  // Interleaves the elements of function(T) -> Dataset<U>: `cycle_length` (1 to 65,536) inputs are
  // open at a time, and each yields `block_length` > 0 elements in turn. Open inputs are read ahead
  // in parallel, so data shared by their generators and scans must be thread-safe. The options and
  // epochs of the returned datasets are ignored.
  //
  // An input is destroyed at its end. Its mapped files stay mapped for the iterator's lifetime, so
  // elements may reference mapped records, as without interleave. (Each file is mapped once, even
  // if several inputs use it or one input uses it repeatedly.) If elements reference any other
  // memory, they must own it, or it must outlive the iterator. All this also applies to flat_map.
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length = 1) const {
    using Result = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    return open_each<Result>("interleave", cycle_length, block_length, std::move(function));
  }

  // Calls function(const State&, T) -> std::pair<State, U> on the elements sequentially and yields
  // the Us. An element that fails leaves the state unchanged. Moving a State must not throw.
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<const F&, const State&, T&&>::second_type;
    auto scan =
        std::make_unique<internal::Scan<T, U, State, F>>(std::move(initial), std::move(function));
    return with<U>(internal::scan(node_, std::move(scan), internal::element_ops<U>()));
  }

  // Skips elements for which any upstream operator threw recordpipe::Error (for example, because of
  // a CRC mismatch, or an Example without a required feature), up to the limits. Beyond a limit,
  // throws Error{limit_exceeded}, which names the limit and the last cause, after all elements
  // before it. Iterator::skipped() reports the skipped elements. Other exceptions (bad_alloc, your
  // own types) are not skipped.
  //
  // Skipping an element doesn't affect other elements: upstream operators treat the failed element
  // like a valid one, with its position, id and random numbers, also in a shuffle's buffer or a
  // batch (a batch with a failed row is skipped as a whole). Only downstream operators see that the
  // element is missing. Best placed late: after shuffle, before batch.
  //
  // A record whose data CRC doesn't match is one skipped element, in plain and compressed files. An
  // error that ends its source is not skipped: a missing file, damaged framing, a damaged
  // compressed stream. If each file is a separate input (flat_map or interleave over paths), only
  // the damaged file ends early, and the report says how much of it is lost; the other files
  // continue. DamageOptions (tfrecord_files.h) leave out damage in the source.
  Dataset ignore_errors(const IgnoreErrorsOptions& limits = {}) const {
    return with<T>(internal::ignore_errors(node_, limits));
  }

  // The inverse of batch: yields the elements of std::vectors.
  auto unbatch() const requires Vector<T> {
    return with<internal::vector_element_t<T>>(internal::unbatch(node_));
  }

  // Shuffles with a buffer of `buffer_size` (1 to 2^32 - 1) elements. The order is uniform over all
  // permutations if the buffer holds the whole input. Each epoch has a different order. It depends
  // on the seed (default: 0), the epoch and the number of elements only, also inside of zip and
  // concatenate: two shuffles, one behind the other, need two seeds. Inside of interleave, it
  // depends on the number of the input as well.
  Dataset shuffle(size_t buffer_size, uint64_t seed = 0) const {
    return with<T>(internal::shuffle(node_, buffer_size, seed));
  }

  // Shuffles all elements in O(1) memory, uniformly over all permutations; each epoch has a
  // different order. `seed`: default 0. Requires random access: in-memory sources and plain
  // TFRecord files have it, and operators keep it where they say so. Otherwise throws
  // Error{invalid_argument} immediately, naming the operator without random access.
  Dataset global_shuffle(uint64_t seed = 0) const {
    return with<T>(internal::global_shuffle(node_, seed));
  }

  // Yields all elements of this dataset, then all elements of `next`. Keeps random access.
  Dataset concatenate(const Dataset& next) const {
    return with<T>(internal::concatenate({node_, next.node_}));
  }

  // Selects from each group of num_shards (1 to kMaxShards) consecutive elements the element at
  // `index`, which must be less than num_shards. The shards of all workers are disjoint and
  // together cover the input. If the input ends within a group, the first shards get one element
  // more than the others, as in tf.data. With DropRemainder::yes, the incomplete group is dropped:
  // all workers then have the same number of elements, and with batch(n, DropRemainder::yes) the
  // same number of batches, for any number of workers. Elements keep their ids, so an element's
  // random numbers don't depend on the number of workers. Keeps random access.
  //
  // Place shard after shuffle and repeat and directly before batch (only maps may be between). A
  // state saved by one of 4 workers (batch size 32) after its batch K can then be restored by each
  // of 2 workers (batch size 64), which continue with the same global batches. A single worker uses
  // shard(1, 0).
  //
  // Workers that divide whole batches place shard last (only maps and prefetch may follow). A state
  // that was saved behind shard(n, i) can then be restored behind any shard, and without one,
  // unless the remainder is dropped. It goes on after the groups of which worker i has returned its
  // element: the states of all workers are equal after the same number of elements.
  Dataset shard(size_t num_shards, size_t index,
                DropRemainder drop_remainder = DropRemainder::no) const {
    return with<T>(internal::shard(node_, num_shards, index, drop_remainder == DropRemainder::yes));
  }

  // Yields pairs of an index, counted from `start`, and an element. Keeps random access.
  Dataset<Enumerated<T>> enumerate(int64_t start = 0) const {
    return with<Enumerated<T>>(internal::enumerate(node_, start, internal::pair_ops<T>()));
  }

  // Repeats the input `count` times; 0: yields nothing; -1: repeats it until a pass yields no
  // elements. A count below -1 is out of range.
  Dataset repeat(int64_t count = -1) const { return with<T>(internal::repeat(node_, count)); }

  // take() yields the first `count` elements, skip() all elements after them. Unneeded elements are
  // not computed. Both keep random access.
  Dataset take(uint64_t count) const { return with<T>(internal::take(node_, count)); }
  Dataset skip(uint64_t count) const { return with<T>(internal::skip(node_, count)); }

  // Combines `batch_size` > 0 elements into a batch: by default a std::vector<T>; other Collators
  // make other batch types (for example, ImageCollator). The last batch may be smaller, unless the
  // remainder is dropped. Rows are written in parallel, directly to their position in a reused
  // batch. Keeps random access.
  template <CollatorOf<T> C = VectorCollator<T>>
  Dataset<typename C::Batch> batch(size_t batch_size,
                                   DropRemainder drop_remainder = DropRemainder::no,
                                   C collator = {}) const {
    using Batch = typename C::Batch;
    return with<Batch>(
        internal::batch(node_, batch_size, drop_remainder == DropRemainder::yes,
                        std::make_unique<internal::Collate<T, C>>(std::move(collator)),
                        internal::element_ops<Batch>()));
  }

  // Combines vectors into the rows of a dense batch. Pads each row with `padding` to the length of
  // the longest row, or to `length`; a row longer than `length` is an error.
  auto padded_batch(size_t batch_size, internal::vector_element_t<T> padding,
                    DropRemainder drop_remainder = DropRemainder::no,
                    std::optional<size_t> length = {}) const requires Vector<T> {
    using V = internal::vector_element_t<T>;
    return batch(batch_size, drop_remainder, PaddedCollator<V>{std::move(padding), length});
  }

  // Combines elements of similar length into batches, as tf.data does. Each element goes to the
  // bucket of its length(const T&), an integer of at least 0; a bucket that is full becomes a batch
  // of the collator. Elements keep their order in a bucket. At the end, the buckets with elements
  // follow, the shortest first, unless the remainder is dropped. The function runs in parallel and
  // must be thread-safe.
  //
  // An element that fails, in `length` or upstream, becomes a failed batch of its own, at its
  // place: ignore_errors after it skips this element only. Holds the elements of buckets that are
  // not full. A saved state takes 8 bytes for each of these. A restore plans the input from its
  // start, as for shuffle, and computes these elements again.
  template <std::invocable<const T&> F, CollatorOf<T> C = VectorCollator<T>>
  Dataset<typename C::Batch> bucket_by_sequence_length(F length, const LengthBuckets& buckets,
                                                       C collator = {}) const {
    return buckets_of(std::move(length), buckets, {}, std::move(collator));
  }

  // The same for vectors, by their size. Pads rows with `padding`.
  auto bucket_by_sequence_length(
      const LengthBuckets& buckets, internal::vector_element_t<T> padding,
      PadToBucketBoundary pad_to = PadToBucketBoundary::no) const requires Vector<T> {
    using V = internal::vector_element_t<T>;
    const auto length = [](const T& values) { return values.size(); };
    if (pad_to == PadToBucketBoundary::no || buckets.boundaries.empty()) {
      return buckets_of(length, buckets, {}, PaddedCollator<V>{std::move(padding)});
    }
    return buckets_of(length, buckets, buckets.boundaries.back() - 1,
                      BoundaryCollator<V>{std::move(padding), buckets.boundaries});
  }

  // Packs vectors into rows of `length` > 0 values, with segment ids and positions: each into the
  // first of the open rows that has room for it; if none has, the oldest row is yielded and a new
  // one opened. A full row is yielded at once; at the end, all others follow, the oldest first. The
  // result depends on the order of the elements and the options only.
  //
  // An element that fails, or is too long (PackOptions::too_long), becomes a failed row of its own,
  // at its place. Saved states are as those of bucket_by_sequence_length, of the sequences in open
  // rows.
  auto pack_sequences(size_t length, const PackOptions& options = {},
                      internal::vector_element_t<T> padding = {}) const requires Vector<T> {
    using V = internal::vector_element_t<T>;
    return pack_sequences([](const T& values) { return values.size(); }, {length},
                          PackCollator<V>{length, std::move(padding)}, options);
  }

  // The same for elements with several features: sizes(const T&) returns their sizes (a vector or
  // an array, as many as `lengths`; a single number for one feature), and an element goes to a row
  // that has room for all of them. The collator makes a row of its elements; it cuts what is longer
  // than a row, if options.too_long is truncate.
  template <std::invocable<const T&> F, CollatorOf<T> C>
  Dataset<typename C::Batch> pack_sequences(F sizes, const std::vector<size_t>& lengths, C collator,
                                            const PackOptions& options = {}) const {
    return with<typename C::Batch>(internal::pack_sequences(
        node_, std::make_unique<internal::Measure<T, F>>(std::move(sizes), lengths.size()), lengths,
        options, std::make_unique<internal::Collate<T, C>>(std::move(collator)),
        internal::element_ops<typename C::Batch>()));
  }

  // Yields windows: std::vectors of `size` > 0 elements. Window k starts at element k * `shift`
  // (`shift` > 0; default: `size`). The last windows may be shorter, unless the remainder is
  // dropped.
  auto window(size_t size, std::optional<size_t> shift = {},
              DropRemainder drop_remainder = DropRemainder::no) const requires std::copyable<T> {
    using Window = std::vector<T>;
    return with<Window>(
        internal::window(node_, size, shift.value_or(size), drop_remainder == DropRemainder::yes,
                         internal::copy_elements<T>, internal::element_ops<Window>()));
  }

  // Computes the elements once and keeps them in memory for all later passes and iterators of this
  // Dataset and of Datasets derived from it (cache.h). Upstream operators use the random numbers of
  // epoch 0 in all passes.
  Dataset cache(const CacheOptions& options = {}) const requires std::copyable<T> {
    return with<T>(internal::cache(node_, options, internal::copy_elements<T>));
  }

  // Like cache(options), but keeps the elements in a file, also for later runs. The file appears
  // when a pass has reached its end. A cache file that was written by another pipeline or from
  // other source files is rejected with an error.
  template <CacheCodecOf<T> C = CacheCodec<T>>
  Dataset cache(std::string path, C codec = {},
                FileSystem& file_system = posix_file_system()) const {
    return with<T>(internal::file_cache(node_, file_system, std::move(path),
                                        std::make_unique<internal::Codec<T, C>>(std::move(codec))));
  }

  // A separate thread keeps up to `buffer_size` > 0 elements ready while the consumer works. By
  // default the size is tuned automatically: it starts at 2 and is doubled each time the consumer
  // finds the buffer empty after it was full, up to 64.
  Dataset prefetch(size_t buffer_size = kAutotune) const {
    return with<T>(internal::prefetch(node_, buffer_size));
  }

  // Sets threads, chunk size, memory limit and trace. Replaces all earlier options. Options never
  // change the elements.
  Dataset with_options(const PipelineOptions& options) const {
    return Dataset(node_, options, epoch_);
  }
  const PipelineOptions& options() const { return options_; }

  // Returns the same Dataset with its passes in epoch `epoch` (default: 0). Each epoch has its own
  // order and random numbers:
  //
  //     for (uint64_t epoch = 0; epoch < n; ++epoch) {
  //       for (const auto& batch : batches.epoch(epoch)) ...
  //     }
  //
  // The concatenated elements of epochs 0 to n - 1 equal those of batches.repeat(n), bit for bit.
  // The loop over each epoch creates a new iterator, which opens the files and checks their CRCs
  // again; with repeat, both happen only once. If the Dataset contains a repeat, pass p of the
  // repeat in epoch k has its own epoch: p if k is 0, otherwise a unique value for each (k, p).
  //
  // Like an option, the epoch is a property of the iteration, not an operator: operators may follow
  // epoch(), the last call wins, and the epoch is not part of explain() or of a saved state's plan.
  // The epochs of secondary inputs (of concatenate, zip, sample_from_datasets, interleave) are
  // ignored.
  Dataset epoch(uint64_t epoch) const { return Dataset(node_, options_, epoch); }

  // Lists the operators in data-flow order, one per line.
  std::string explain() const { return internal::explain(node_); }
  // Returns a hash of the operators and their parameters, and of the parameters() of functions.
  uint64_t plan_hash() const { return internal::plan_hash(node_); }

  // Returns the number of elements of a pass without computing them. If an element can't be
  // computed, the pass ends earlier.
  //   - kInfiniteCardinality: repeat(-1) of an input that is known not to be empty.
  //   - kUnknownCardinality: after filter, flat_map, interleave, unbatch, ignore_errors,
  //     bucket_by_sequence_length, pack_sequences, choose_from_datasets and from_generator; for
  //     sample_from_datasets with StopOnEmptyDataset::yes; for files whose records can't be counted
  //     without reading them all (compressed, damaged, not regular, or at a URL without range
  //     requests); beyond INT64_MAX.
  // Each call counts the records of files anew, by their indexes or headers, on the calling thread,
  // and throws the errors of opening them. At a URL without an index, this takes many requests.
  Cardinality cardinality() const { return internal::cardinality(node_); }

  // Starts a new pass, for example iterate({.epoch = 3}).
  Iterator<T> iterate(const IterateOptions& options = {}) const {
    return Iterator<T>(internal::AnyIterator(node_, options_, options.epoch.value_or(epoch_)));
  }

  // For range-for: an input range. Each call of begin() starts a new pass in the Dataset's epoch.
  InputIterator<T> begin() const { return InputIterator<T>(iterate()); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend struct internal::DatasetNode;

  Dataset(internal::NodePtr node, const PipelineOptions& options, uint64_t epoch)
      : node_(std::move(node)), options_(options), epoch_(epoch) {}

  template <class U>
  Dataset<U> with(internal::NodePtr node) const {
    return internal::DatasetNode::with<U>(*this, std::move(node));
  }

  template <class U, class F>
  static auto make_map(F function) {
    return std::make_unique<internal::Map<T, U, F>>(std::move(function));
  }

  template <class F>
  struct OpenDataset {
    F function;
    internal::NodePtr operator()(T&& value) const {
      return internal::DatasetNode::of(std::invoke(function, std::move(value)));
    }
    std::vector<Parameter> parameters() const { return internal::parameters_of(function); }
  };

  template <class F, class C>
  auto buckets_of(F length, const LengthBuckets& buckets, std::optional<size_t> most,
                  C collator) const {
    using Batch = typename C::Batch;
    return with<Batch>(internal::bucket_by_sequence_length(
        node_, std::make_unique<internal::Measure<T, F>>(std::move(length), 1), buckets, most,
        std::make_unique<internal::Collate<T, C>>(std::move(collator)),
        internal::element_ops<Batch>()));
  }

  template <class Result, class F>
  auto open_each(const char* name, size_t cycle_length, size_t block_length, F function) const {
    using U = typename Result::value_type;
    return with<U>(internal::interleave(
        node_, make_map<internal::NodePtr>(OpenDataset<F>{std::move(function)}),
        internal::element_ops<U>(), name, cycle_length, block_length));
  }

  internal::NodePtr node_;
  PipelineOptions options_;
  uint64_t epoch_;
};

}  // namespace recordpipe
