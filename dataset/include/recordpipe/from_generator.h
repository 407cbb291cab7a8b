// from_generator: elements that a function of yours makes, one after the other.
//
//     Dataset<int> countdown = from_generator([] {
//       return [n = 3]() mutable { return n > 0 ? std::optional(n--) : std::nullopt; };
//     });
//
// In order. A pass asks the factory for a generator when its first element is wanted, and calls
// that until it returns nothing or throws, always one call at a time, on the thread that plans: put
// a prefetch after it. Calls are ahead of what has been delivered by a chunk
// (PipelineOptions::chunk_size).
//
// Saved: how many elements there were. To restore, a new generator makes as many again, which are
// dropped: so each must make the same elements as the one before. No random access.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "recordpipe/dataset.h"

namespace recordpipe {

// () -> std::optional<an Element>
template <class G>
concept Generator = std::invocable<G&> && Element<typename std::invoke_result_t<G&>::value_type> &&
    std::same_as<std::invoke_result_t<G&>,
                 std::optional<typename std::invoke_result_t<G&>::value_type>>;

// () -> Generator, called as const, and from several threads at once where there are several
// iterators.
template <class F>
concept GeneratorFactory =
    std::copy_constructible<F> && Generator<std::decay_t<std::invoke_result_t<const F&>>>;

template <GeneratorFactory F>
using generator_of_t = std::decay_t<std::invoke_result_t<const F&>>;
template <GeneratorFactory F>
using generated_t = typename std::invoke_result_t<generator_of_t<F>&>::value_type;

// The elements of the generators that `factory` makes, a new one for each pass. What either throws
// is thrown when all elements before it have been delivered, and ends the pass: a generator is not
// called again after it has thrown, so there is nothing for ignore_errors to go on with.
template <GeneratorFactory F>
Dataset<generated_t<F>> from_generator(F factory) {
  using T = generated_t<F>;
  return Dataset<T>(internal::from_generator(
      std::make_unique<internal::Generate<T, F>>(std::move(factory)), internal::element_ops<T>()));
}

}  // namespace recordpipe
