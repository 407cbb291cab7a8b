// from_generator: a source of elements computed sequentially by a user-defined generator.
//
//     Dataset<int> countdown = from_generator([] {
//       return [n = 3]() mutable { return n > 0 ? std::optional(n--) : std::nullopt; };
//     });
//
// Yields elements in order. A pass calls the factory when its first element is needed, and calls
// the returned generator until the generator returns nullopt or throws. All calls are sequential,
// on the planning thread: place a prefetch after the source. The calls are up to one chunk
// (PipelineOptions::chunk_size) ahead of the delivered elements.
//
// Saved state: the number of generated elements. A restore calls a new generator that number of
// times and discards the results, so each generator must produce the same elements. No random
// access.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

// A function () -> std::optional<T>, where T is an Element.
template <class G>
concept Generator = std::invocable<G&> && Element<typename std::invoke_result_t<G&>::value_type> &&
    std::same_as<std::invoke_result_t<G&>,
                 std::optional<typename std::invoke_result_t<G&>::value_type>>;

// A function () -> Generator. Called as const; with several iterators, called concurrently.
template <class F>
concept GeneratorFactory =
    std::copy_constructible<F> && Generator<std::decay_t<std::invoke_result_t<const F&>>>;

template <GeneratorFactory F>
using generator_of_t = std::decay_t<std::invoke_result_t<const F&>>;
template <GeneratorFactory F>
using generated_t = typename std::invoke_result_t<generator_of_t<F>&>::value_type;

// Yields the elements of the generators that `factory` returns, a new generator for each pass. An
// exception of the factory or a generator is thrown after all elements before it and ends the pass,
// even with ignore_errors: the generator is not called again.
template <GeneratorFactory F>
Dataset<generated_t<F>> from_generator(F factory) {
  using T = generated_t<F>;
  return internal::DatasetNode::source<T>(internal::from_generator(
      std::make_unique<internal::Generate<T, F>>(std::move(factory)), internal::element_ops<T>()));
}

}  // namespace recordpipe
