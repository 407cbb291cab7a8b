// Dataset<T>: a pipeline of elements as a value, after tf.data.
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
// Sources have headers of their own: tfrecord_files.h, from_vector.h, range.h, from_generator.h.
//
// A Dataset says what to do; it does nothing until it is iterated, and may be copied, shared and
// iterated as often as you like, at the same time too. Operators are named and mean what tf.data's
// do. What this library promises beyond that:
//
//   - The elements, their order and their bytes are a function of the sources, the operators and
//     the seeds: never of the thread count, the chunk size, the prefetch depth or the time.
//     Functions given to map and filter must depend on nothing but their arguments.
//   - Random numbers are Philox's, keyed by seed, operator, epoch and the element's place in its
//     source.
//   - Errors keep their place: whatever an operator or a function throws is thrown by the iterator
//     when all elements before it have been delivered, the same at any thread count, and again at
//     every further call.
//   - Memory is bounded by the chunks in flight (about 2 + threads of them at the end, at each
//     prefetch and operator that must see values, and in each open input of an interleave, which
//     holds up to two chunks, or 2 MiB of small elements, besides), by the buffers and caches you
//     ask for, by 8 bytes for each record of a mapped file, and by what a shuffle holds: 24 bytes
//     an element, and the element itself where it was computed before (behind filter, prefetch, or
//     a compressed file).
//   - Dropping an iterator at any moment stops and joins everything it started, as soon as the
//     chunks that are in work at that moment are done.
#pragma once

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

#include "recordpipe/cache_codec.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/plan_description.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/operators/batch.h"
#include "recordpipe/internal/operators/cache.h"
#include "recordpipe/internal/operators/concatenate.h"
#include "recordpipe/internal/operators/enumerate.h"
#include "recordpipe/internal/operators/file_cache.h"
#include "recordpipe/internal/operators/filter.h"
#include "recordpipe/internal/operators/flat_map.h"
#include "recordpipe/internal/operators/global_shuffle.h"
#include "recordpipe/internal/operators/ignore_errors.h"
#include "recordpipe/internal/operators/interleave.h"
#include "recordpipe/internal/operators/map.h"
#include "recordpipe/internal/operators/padded_batch.h"
#include "recordpipe/internal/operators/planned_collator.h"
#include "recordpipe/internal/operators/prefetch.h"
#include "recordpipe/internal/operators/repeat.h"
#include "recordpipe/internal/operators/scan.h"
#include "recordpipe/internal/operators/shard.h"
#include "recordpipe/internal/operators/shuffle.h"
#include "recordpipe/internal/operators/take_skip.h"
#include "recordpipe/internal/operators/window.h"
#include "recordpipe/iterator.h"
#include "recordpipe/options.h"

namespace recordpipe {

enum class DropRemainder { no, yes };

template <Element T>
class Dataset {
 public:
  using value_type = T;

  explicit Dataset(std::shared_ptr<const Node<T>> node, PipelineOptions options = {},
                   uint64_t epoch = 0)
      : node_(std::move(node)), options_(options), epoch_(epoch) {}

  // function(T) -> U of each element, on all threads, results in order. The function is called as
  // const and from several threads at once. It may take T by value, T&& or const T&. What it does
  // is not seen in saved states and caches, unless it has parameters() (HasParameters).
  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    using Function = WithoutRandom<F>;
    return with<U>(std::make_shared<MapNode<T, U, Function>>(node_, Function{std::move(function)},
                                                             /*random=*/false));
  }

  // The same for function(T, Random&) -> U: `random` holds the element's own numbers, the same
  // wherever and whenever it is computed, others in each epoch.
  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&, Random&>>;
    using Function = WithRandom<F>;
    return with<U>(std::make_shared<MapNode<T, U, Function>>(
        node_, Function{std::move(function), seed, derive_key(seed, node_->random_operators())},
        /*random=*/true));
  }

  // The elements for which predicate(const T&) holds, in order. Tested on all threads.
  template <std::predicate<const T&> P>
  Dataset filter(P predicate) const {
    return with<T>(std::make_shared<FilterNode<T, P>>(node_, std::move(predicate)));
  }

  // The elements of function(T) -> std::vector<U> or Dataset<U>, one after the other.
  template <class F>
  auto flat_map(F function) const {
    using Result = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    if constexpr (Vector<Result>) {
      using U = vector_element_t<Result>;
      return with<U>(std::make_shared<FlatMapNode<T, U, F>>(node_, std::move(function)));
    } else {
      return open_each<Result>("flat_map", 1, 1, std::move(function));
    }
  }

  // The elements of function(T) -> Dataset<U>, `block_length` from each of `cycle_length` (1 to
  // 65,536) that are open at the same time, in turns. The open ones are read ahead in parallel:
  // what their generators and scans share must be thread-safe. Options and epochs of those datasets
  // don't count.
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length = 1) const {
    require(cycle_length > 0 && cycle_length <= 65536,
            "interleave: cycle_length must be 1 to 65536");
    require(block_length > 0, "interleave: block_length must be at least 1");
    using Result = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    return open_each<Result>("interleave", cycle_length, block_length, std::move(function));
  }

  // function(const State&, T) -> std::pair<State, U>, one element after the other; yields the Us.
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<const F&, const State&, T&&>::second_type;
    return with<U>(
        std::make_shared<ScanNode<T, U, State, F>>(node_, std::move(initial), std::move(function)));
  }

  // Leaves out elements whose computing threw recordpipe::Error, up to the limits; what was left
  // out is in Iterator::skipped().
  Dataset ignore_errors(const IgnoreErrorsOptions& limits = {}) const {
    require(limits.max_rate >= 0 && limits.max_rate <= 1, "ignore_errors: max_rate must be 0 to 1");
    return with<T>(std::make_shared<IgnoreErrorsNode<T>>(node_, limits));
  }

  // batch undone: the elements of std::vectors.
  auto unbatch() const requires Vector<T> {
    using U = vector_element_t<T>;
    return with<U>(std::make_shared<UnbatchNode<U>>(node_));
  }

  // A random order from a buffer of `buffer_size` > 0 elements: uniform over all permutations where
  // the buffer holds the whole input. Each epoch (repeat after shuffle) is shuffled anew.
  Dataset shuffle(size_t buffer_size, uint64_t seed) const {
    require(buffer_size > 0 && buffer_size <= UINT32_MAX,
            "shuffle: buffer_size must be 1 to 2^32-1");
    return with<T>(std::make_shared<ShuffleNode<T>>(node_, buffer_size, seed));
  }

  // A random order of all elements in O(1) memory, uniform over all orders, another in each epoch.
  // Needs random access (global_shuffle.h says what has it): throws Error{invalid_argument} here,
  // naming the operator that has none.
  Dataset global_shuffle(uint64_t seed) const {
    return with<T>(std::make_shared<GlobalShuffleNode<T>>(node_, seed));
  }

  // All of this, then all of `next`.
  Dataset concatenate(const Dataset& next) const {
    return with<T>(std::make_shared<ConcatenateNode<T>>(
        std::vector<std::shared_ptr<const Node<T>>>{node_, next.node_}));
  }

  // Of each num_shards elements (1 to 65536) the one at `index` < num_shards. shard.h says what is
  // promised of it, and that it belongs after shuffle and repeat.
  Dataset shard(size_t num_shards, size_t index,
                DropRemainder drop_remainder = DropRemainder::no) const {
    require(num_shards >= 1 && num_shards <= ShardNode<T>::kMaxShards,
            "shard: num_shards must be 1 to 65536");
    require(index < num_shards, "shard: index must be below num_shards");
    return with<T>(std::make_shared<ShardNode<T>>(node_, num_shards, index,
                                                  drop_remainder == DropRemainder::yes));
  }

  // Pairs of a number, from `start` on, and an element.
  Dataset<Enumerated<T>> enumerate(int64_t start = 0) const {
    return with<Enumerated<T>>(std::make_shared<EnumerateNode<T>>(node_, start));
  }

  // The input `count` times over, -1: for ever (until a pass yields nothing).
  Dataset repeat(int64_t count = -1) const {
    require(count >= -1, "repeat: count must be at least 0, or -1 for ever");
    return with<T>(std::make_shared<RepeatNode<T>>(node_, count));
  }

  // The first `count` elements; all but those. What isn't wanted is not computed.
  Dataset take(uint64_t count) const {
    return with<T>(std::make_shared<CountNode<T, TakeStage>>(node_, "take", count));
  }
  Dataset skip(uint64_t count) const {
    return with<T>(std::make_shared<CountNode<T, SkipStage>>(node_, "skip", count));
  }

  // `batch_size` > 0 elements to one, by default a std::vector<T>; another Collator makes another
  // batch (ImageCollator, for instance). The last batch is shorter, unless the remainder is
  // dropped. Rows are written on all threads, straight to their place in a slot that is used again.
  // Give a collator of yours parameters() (HasParameters), or else states and caches of one are
  // taken for another's.
  template <CollatorOf<T> C = VectorCollator<T>>
  Dataset<typename C::Batch> batch(size_t batch_size,
                                   DropRemainder drop_remainder = DropRemainder::no,
                                   C collator = {}) const {
    require(batch_size > 0, "batch: batch_size must be at least 1");
    if constexpr (HasParameters<C> && !DescribedCollator<C>) {
      return batch(batch_size, drop_remainder, PlannedCollator<C>(std::move(collator)));
    } else {
      return with<typename C::Batch>(std::make_shared<BatchNode<T, C>>(
          node_, batch_size, drop_remainder == DropRemainder::yes, std::move(collator)));
    }
  }

  // Vectors as the rows of one dense batch, filled up with `padding` to the longest of them, or to
  // `length`: then a longer one is an error.
  auto padded_batch(size_t batch_size, vector_element_t<T> padding,
                    DropRemainder drop_remainder = DropRemainder::no,
                    std::optional<size_t> length = {}) const requires Vector<T> {
    using V = vector_element_t<T>;
    return batch(batch_size, drop_remainder, PaddedCollator<V>{std::move(padding), length});
  }

  // std::vectors of `size` > 0 elements, each starting `shift` > 0 elements after the one before;
  // by default `size`. Those at the end are shorter, unless the remainder is dropped.
  auto window(size_t size, std::optional<size_t> shift = {},
              DropRemainder drop_remainder = DropRemainder::no) const {
    require(size > 0, "window: size must be at least 1");
    require(shift.value_or(size) > 0, "window: shift must be at least 1");
    return with<std::vector<T>>(std::make_shared<WindowNode<T>>(
        node_, size, shift.value_or(size), drop_remainder == DropRemainder::yes));
  }

  // Computes the elements once and keeps them in memory for all later passes and iterators of this
  // Dataset and those made from it (cache.h); random numbers before it are those of epoch 0 in all
  // of them.
  Dataset cache(const CacheOptions& options = {}) const {
    return with<T>(std::make_shared<CacheNode<T>>(node_, options));
  }

  // The same in a file, for later runs too. It appears when a pass has come to its end; one that
  // was made by another pipeline or from other files is refused.
  template <CacheCodecOf<T> C = CacheCodec<T>>
  Dataset cache(std::string path, C codec = {},
                FileSystem& file_system = posix_file_system()) const {
    return with<T>(std::make_shared<FileCacheNode<T, C>>(node_, file_system, std::move(path),
                                                         std::move(codec)));
  }

  // A thread of its own keeps up to `buffer_size` > 0 elements ready while the consumer works; by
  // default as many as turn out to be of use (prefetch_depth.h).
  Dataset prefetch(size_t buffer_size = kAutotune) const {
    require(buffer_size > 0, "prefetch: buffer_size must be at least 1");
    return with<T>(std::make_shared<PrefetchNode<T>>(node_, buffer_size));
  }

  // How it is computed: threads, chunk size, limit of memory, trace. Replaces all options given
  // before. No option changes an element.
  Dataset with_options(const PipelineOptions& options) const {
    return Dataset(node_, options, epoch_);
  }
  const PipelineOptions& options() const { return options_; }

  // The same Dataset with its passes in epoch `epoch`; 0 where none was given. Each epoch has its
  // own order and random numbers:
  //
  //     for (uint64_t epoch = 0; epoch < n; ++epoch) {
  //       for (const auto& batch : batches.epoch(epoch)) ...
  //     }
  //
  // The elements of epochs 0 to n - 1, one after the other, are those of batches.repeat(n), bit for
  // bit. Each loop is a new iterator, which opens the files and checks their CRCs again; repeat
  // does both once. If the Dataset contains a repeat, pass p of it in epoch k is in epoch
  // nested_epoch(k, p) (stage.h): p if k is 0, and otherwise an epoch that differs for each (k, p).
  //
  // Like an option, the epoch belongs to the iteration. It is no operator: operators may follow it,
  // the last one that was given counts, and it is no part of explain() or of a saved state's plan.
  // The epochs of further inputs (of concatenate, zip, sample_from_datasets, interleave) don't
  // count.
  Dataset epoch(uint64_t epoch) const { return Dataset(node_, options_, epoch); }

  // For operators: what it is made of, and a Dataset of `node` with the options and the epoch of
  // this one.
  const std::shared_ptr<const Node<T>>& node() const { return node_; }
  template <class U>
  Dataset<U> with(std::shared_ptr<const Node<U>> node) const {
    return Dataset<U>(std::move(node), options_, epoch_);
  }

  // The operators, one a line, in the order the elements take.
  std::string explain() const { return node_->describe().text(); }

  // A new pass: iterate({.epoch = 3}).
  Iterator<T> iterate(const IterateOptions& options = {}) const {
    return {node_, make_stage_context(options_), options.epoch.value_or(epoch_)};
  }

  // For range-for: an input range, a pass of its own each time, in the Dataset's epoch.
  InputIterator<T> begin() const { return InputIterator<T>(iterate()); }
  std::default_sentinel_t end() const { return {}; }

 private:
  template <class Result, class F>
  auto open_each(const char* name, size_t cycle_length, size_t block_length, F function) const {
    using U = typename Result::value_type;
    const auto node_of = [function = std::move(function)](T&& value) {
      return std::invoke(function, std::move(value)).node();
    };
    return with<U>(std::make_shared<InterleaveNode<T, U, std::decay_t<decltype(node_of)>>>(
        node_, name, cycle_length, block_length, node_of));
  }

  static void require(bool condition, const char* reason) {
    if (!condition) throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
  }

  std::shared_ptr<const Node<T>> node_;
  PipelineOptions options_;
  uint64_t epoch_;
};

}  // namespace recordpipe
