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
//   - The elements, their order and their bytes are a function of the sources, the operators, the
//     seeds and the epoch: never of the thread count, the chunk size, the prefetch depth or the
//     time. Functions given to map and filter must depend on nothing but their arguments.
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
//
// Only the functions that you give are compiled in your program; the rest is in the library.
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

#include "recordpipe/cache.h"
#include "recordpipe/cache_codec.h"
#include "recordpipe/collator.h"
#include "recordpipe/element.h"
#include "recordpipe/file.h"
#include "recordpipe/ignore_errors.h"
#include "recordpipe/internal/functions.h"
#include "recordpipe/internal/operators.h"
#include "recordpipe/iterator.h"
#include "recordpipe/options.h"
#include "recordpipe/padded_batch.h"

namespace recordpipe {

enum class DropRemainder { no, yes };

// A std::vector of elements.
template <class T>
concept Vector = internal::ElementVector<T>;

// What enumerate makes: a number and an element.
template <Element T>
using Enumerated = std::pair<int64_t, T>;

// The most that shard divides a dataset into.
inline constexpr size_t kMaxShards = size_t{1} << 16;

template <Element T>
class Dataset {
 public:
  using value_type = T;

  explicit Dataset(internal::NodePtr node, const PipelineOptions& options = {}, uint64_t epoch = 0)
      : node_(std::move(node)), options_(options), epoch_(epoch) {}

  // function(T) -> U of each element, on all threads, results in order. The function is called as
  // const and from several threads at once. It may take T by value, T&& or const T&. What it does
  // is not seen in saved states and caches, unless it has parameters() (parameter.h).
  template <class F>
  auto map(F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    return with<U>(internal::map(node_, make_map<U>(std::move(function)),
                                 internal::element_ops<U>(), /*seed=*/{}));
  }

  // The same for function(T, Random&) -> U: `random` holds the element's own numbers, the same
  // wherever and whenever it is computed, others in each epoch.
  template <class F>
  auto map_with_random(uint64_t seed, F function) const {
    using U = std::decay_t<std::invoke_result_t<const F&, T&&, Random&>>;
    const uint64_t key = derive_key(seed, internal::random_operators(node_));
    auto map = std::make_unique<internal::MapWithRandom<T, U, F>>(std::move(function), key);
    return with<U>(internal::map(node_, std::move(map), internal::element_ops<U>(), seed));
  }

  // The elements for which predicate(const T&) holds, in order. Tested on all threads.
  template <std::predicate<const T&> P>
  Dataset filter(P predicate) const {
    return with<T>(
        internal::filter(node_, std::make_unique<internal::Filter<T, P>>(std::move(predicate))));
  }

  // The elements of function(T) -> std::vector<U> or Dataset<U>, one after the other. Options and
  // epochs of those datasets don't count.
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

  // The elements of function(T) -> Dataset<U>, `block_length` from each of `cycle_length` (1 to
  // 65,536) that are open at the same time, in turns. The open ones are read ahead in parallel:
  // what their generators and scans share must be thread-safe. Options and epochs of those datasets
  // don't count.
  //
  // An input is destroyed when it has ended. The files that it has mapped stay mapped while the
  // iterator lives (a file that several inputs map, or one again and again, only once), so elements
  // may point into mapped records, as without interleave. What else they point into, they must own,
  // or it must outlive the iterator. All this is true of flat_map, too.
  template <class F>
  auto interleave(F function, size_t cycle_length, size_t block_length = 1) const {
    using Result = std::decay_t<std::invoke_result_t<const F&, T&&>>;
    return open_each<Result>("interleave", cycle_length, block_length, std::move(function));
  }

  // function(const State&, T) -> std::pair<State, U>, one element after the other; yields the Us.
  // An element that fails leaves the state as it was; moving a State must not throw.
  template <class State, class F>
  auto scan(State initial, F function) const {
    using U = typename std::invoke_result_t<const F&, const State&, T&&>::second_type;
    auto scan =
        std::make_unique<internal::Scan<T, U, State, F>>(std::move(initial), std::move(function));
    return with<U>(internal::scan(node_, std::move(scan), internal::element_ops<U>()));
  }

  // Leaves out elements whose computing, wherever upstream, threw recordpipe::Error (a record whose
  // CRC doesn't fit, an Example without the wanted feature), up to the limits; past a limit it
  // throws Error{limit_exceeded}, which names the limit and the last cause, after the elements
  // before it. What was left out is in Iterator::skipped(). Anything else that is thrown
  // (bad_alloc, your own exceptions) is an error as ever.
  //
  // A skipped element moves no other: upstream it has its place, its id and its draws as if it were
  // good, in a shuffle's buffer or a batch too (a batch with a bad row is skipped as a whole). Only
  // operators downstream see that it is gone. So it stands best late, after shuffle, before batch.
  //
  // What ends its source is not skipped, for there is nothing after it: a missing file, damaged
  // framing, damage in a compressed file. Where each file is an input of its own (flat_map or
  // interleave over paths), only that file ends there, and the others go on.
  Dataset ignore_errors(const IgnoreErrorsOptions& limits = {}) const {
    return with<T>(internal::ignore_errors(node_, limits));
  }

  // batch undone: the elements of std::vectors.
  auto unbatch() const requires Vector<T> {
    return with<internal::vector_element_t<T>>(internal::unbatch(node_));
  }

  // A random order from a buffer of `buffer_size` > 0 elements: uniform over all permutations where
  // the buffer holds the whole input. Each epoch is shuffled anew.
  Dataset shuffle(size_t buffer_size, uint64_t seed) const {
    return with<T>(internal::shuffle(node_, buffer_size, seed));
  }

  // A random order of all elements in O(1) memory, uniform over all orders, another in each epoch.
  // Needs random access: sources in memory and plain TFRecord files have it, and map, enumerate,
  // take, skip, shard, concatenate and zip of these. Throws Error{invalid_argument} here, naming
  // the operator that has none.
  Dataset global_shuffle(uint64_t seed) const {
    return with<T>(internal::global_shuffle(node_, seed));
  }

  // All of this, then all of `next`.
  Dataset concatenate(const Dataset& next) const {
    return with<T>(internal::concatenate({node_, next.node_}));
  }

  // Of each num_shards elements (1 to kMaxShards) in a row the one at `index` < num_shards: the
  // shards of all workers are disjoint, and together all of the input. Where the input ends within
  // a group, the first shards get an element more than the others, as in tf.data, or with
  // DropRemainder::yes none does: then all workers have as many elements, and with batch(n,
  // DropRemainder::yes) as many batches, for any number of workers. Elements keep their ids: what
  // is drawn for one does not depend on the number of workers.
  //
  // Put it after shuffle and repeat and directly before batch (maps may be between): then what one
  // of 4 workers with batches of 32 has saved after its batch K, each of 2 workers with batches of
  // 64 can restore, and they go on with the same global batches; where there is one worker now,
  // shard(1, 0).
  Dataset shard(size_t num_shards, size_t index,
                DropRemainder drop_remainder = DropRemainder::no) const {
    return with<T>(internal::shard(node_, num_shards, index, drop_remainder == DropRemainder::yes));
  }

  // Pairs of a number, from `start` on, and an element.
  Dataset<Enumerated<T>> enumerate(int64_t start = 0) const {
    return with<Enumerated<T>>(internal::enumerate(node_, start, internal::pair_ops<T>()));
  }

  // The input `count` times over, -1: for ever (until a pass yields nothing).
  Dataset repeat(int64_t count = -1) const { return with<T>(internal::repeat(node_, count)); }

  // The first `count` elements; all but those. What isn't wanted is not computed.
  Dataset take(uint64_t count) const { return with<T>(internal::take(node_, count)); }
  Dataset skip(uint64_t count) const { return with<T>(internal::skip(node_, count)); }

  // `batch_size` > 0 elements to one, by default a std::vector<T>; another Collator makes another
  // batch (ImageCollator, for instance). The last batch is shorter, unless the remainder is
  // dropped. Rows are written on all threads, straight to their place in a slot that is used again.
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

  // Vectors as the rows of one dense batch, filled up with `padding` to the longest of them, or to
  // `length`: then a longer one is an error.
  auto padded_batch(size_t batch_size, internal::vector_element_t<T> padding,
                    DropRemainder drop_remainder = DropRemainder::no,
                    std::optional<size_t> length = {}) const requires Vector<T> {
    using V = internal::vector_element_t<T>;
    return batch(batch_size, drop_remainder, PaddedCollator<V>{std::move(padding), length});
  }

  // std::vectors of `size` > 0 elements, window k starting at element k * `shift` > 0; by default
  // `size`. Those at the end are shorter, unless the remainder is dropped.
  auto window(size_t size, std::optional<size_t> shift = {},
              DropRemainder drop_remainder = DropRemainder::no) const requires std::copyable<T> {
    using Window = std::vector<T>;
    return with<Window>(
        internal::window(node_, size, shift.value_or(size), drop_remainder == DropRemainder::yes,
                         internal::copy_elements<T>, internal::element_ops<Window>()));
  }

  // Computes the elements once and keeps them in memory for all later passes and iterators of this
  // Dataset and those made from it (cache.h); random numbers before it are those of epoch 0 in all
  // of them.
  Dataset cache(const CacheOptions& options = {}) const requires std::copyable<T> {
    return with<T>(internal::cache(node_, options, internal::copy_elements<T>));
  }

  // The same in a file, for later runs too. It appears when a pass has come to its end; one that
  // was made by another pipeline or from other files is refused.
  template <CacheCodecOf<T> C = CacheCodec<T>>
  Dataset cache(std::string path, C codec = {},
                FileSystem& file_system = posix_file_system()) const {
    return with<T>(internal::file_cache(node_, file_system, std::move(path),
                                        std::make_unique<internal::Codec<T, C>>(std::move(codec))));
  }

  // A thread of its own keeps up to `buffer_size` > 0 elements ready while the consumer works; by
  // default as many as turn out to be of use: 2 at first, twice as many each time the consumer
  // finds nothing after the buffer had been full, at most 64.
  Dataset prefetch(size_t buffer_size = kAutotune) const {
    return with<T>(internal::prefetch(node_, buffer_size));
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
  // does both once. If the Dataset contains a repeat, pass p of it in epoch k is in an epoch of its
  // own: p if k is 0, and otherwise one that differs for each (k, p).
  //
  // Like an option, the epoch belongs to the iteration. It is no operator: operators may follow it,
  // the last one that was given counts, and it is no part of explain() or of a saved state's plan.
  // The epochs of further inputs (of concatenate, zip, sample_from_datasets, interleave) don't
  // count.
  Dataset epoch(uint64_t epoch) const { return Dataset(node_, options_, epoch); }

  // For operators: what it is made of, and a Dataset of `node` with the options and the epoch of
  // this one.
  const internal::NodePtr& node() const { return node_; }
  template <class U>
  Dataset<U> with(internal::NodePtr node) const {
    return Dataset<U>(std::move(node), options_, epoch_);
  }

  // The operators, one a line, in the order the elements take.
  std::string explain() const { return internal::explain(node_); }
  // The same for datasets of the same operators and parameters; what functions do is not seen.
  uint64_t plan_hash() const { return internal::plan_hash(node_); }

  // A new pass: iterate({.epoch = 3}).
  Iterator<T> iterate(const IterateOptions& options = {}) const {
    return Iterator<T>(internal::AnyIterator(node_, options_, options.epoch.value_or(epoch_)));
  }

  // For range-for: an input range, a pass of its own each time, in the Dataset's epoch.
  InputIterator<T> begin() const { return InputIterator<T>(iterate()); }
  std::default_sentinel_t end() const { return {}; }

 private:
  template <class U, class F>
  static auto make_map(F function) {
    return std::make_unique<internal::Map<T, U, F>>(std::move(function));
  }

  template <class Result, class F>
  auto open_each(const char* name, size_t cycle_length, size_t block_length, F function) const {
    using U = typename Result::value_type;
    const auto open = [function = std::move(function)](T&& value) {
      return std::invoke(function, std::move(value)).node();
    };
    return with<U>(internal::interleave(node_, make_map<internal::NodePtr>(open),
                                        internal::element_ops<U>(), name, cycle_length,
                                        block_length));
  }

  internal::NodePtr node_;
  PipelineOptions options_;
  uint64_t epoch_;
};

}  // namespace recordpipe
