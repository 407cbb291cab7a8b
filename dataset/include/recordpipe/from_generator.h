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
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "recordpipe/dataset.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"

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

template <GeneratorFactory F>
class GeneratorStage final : public StoreStage<generated_t<F>> {
 public:
  GeneratorStage(const F& factory, size_t chunk_size)
      : factory_(factory), chunk_size_(chunk_size) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    size_t planned = 0;
    while (planned < out.size()) {
      std::optional<generated_t<F>> element = next(planned);
      if (!element) break;
      out[planned++] = {{epoch_, index_++}, this->store().put(*element)};
    }
    return planned;
  }

  uint64_t do_advance(uint64_t count) override {
    uint64_t passed = 0;
    for (; passed < count && next(passed); ++passed) ++index_;
    return passed;
  }

  void do_restart(uint64_t epoch) override {
    generator_.reset();
    failure_ = nullptr;
    ended_ = false;
    index_ = 0;
    epoch_ = epoch;
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {index_}; }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    const uint64_t made = PlanNumbers(state, 0).next();
    do_restart(epoch);
    if (pass_over(*this, made) < made) fail_state();
  }

  void do_request_stop() override {}
  size_t chunk_size() const override { return chunk_size_; }

 private:
  // Nothing at the end, and where it is to stop. What was thrown is thrown once the `before`
  // elements of this call have been handed on, and ever after.
  std::optional<generated_t<F>> next(uint64_t before) {
    if (failure_ && before == 0) std::rethrow_exception(failure_);
    if (failure_ || ended_ || this->stop_requested()) return std::nullopt;
    try {
      if (!generator_) generator_.emplace(std::invoke(factory_));
      std::optional<generated_t<F>> element = std::invoke(*generator_);
      if (!element) {
        ended_ = true;
        generator_.reset();
      }
      return element;
    } catch (...) {
      failure_ = std::current_exception();
      generator_.reset();
      if (before == 0) throw;
      return std::nullopt;
    }
  }

  const F& factory_;  // the node's
  const size_t chunk_size_;
  std::optional<generator_of_t<F>> generator_;  // of this pass
  std::exception_ptr failure_;
  bool ended_ = false;
  uint64_t index_ = 0;
  uint64_t epoch_ = 0;
};

template <GeneratorFactory F>
class GeneratorNode final : public Node<generated_t<F>> {
 public:
  explicit GeneratorNode(F factory) : factory_(std::move(factory)) {}
  std::unique_ptr<Stage<generated_t<F>>> build_stage(const StageContext& context) const override {
    return std::make_unique<GeneratorStage<F>>(factory_, context.chunk_size);
  }
  uint64_t random_operators() const override { return 0; }
  PlanDescription describe() const override { return {.name = "from_generator"}; }

 private:
  F factory_;
};

// The elements of the generators that `factory` makes, a new one for each pass. What either throws
// is thrown when all elements before it have been delivered, and ends the pass: a generator is not
// called again after it has thrown, so there is nothing for ignore_errors to go on with.
template <GeneratorFactory F>
Dataset<generated_t<F>> from_generator(F factory) {
  return Dataset<generated_t<F>>(std::make_shared<GeneratorNode<F>>(std::move(factory)));
}

}  // namespace recordpipe
