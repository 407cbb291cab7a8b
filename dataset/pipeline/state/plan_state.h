// The position of a stage in its plan: enough to continue in another process.
//
// Each stage writes a few numbers, whose meaning it defines, and the states of its inputs. A saved
// iterator (iterator_state.h) therefore contains positions, but no elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recordpipe::internal {

struct PlanState {
  std::vector<uint64_t> numbers;
  std::vector<PlanState> inputs;
  // The actual position is this many elements later.
  uint64_t passed_over = 0;
  // The end may come up to this many elements before that: a shard's last group may be incomplete.
  uint64_t past_end = 0;

  // Clears the state but keeps its memory. Inputs are overwritten in place, so they stay.
  PlanState& reset(size_t input_count) {
    numbers.clear();
    inputs.resize(input_count);
    passed_over = past_end = 0;
    return *this;
  }
  // Whether skipping has led to the position.
  bool is_reached(uint64_t passed) const {
    return passed >= passed_over || passed_over - passed <= past_end;
  }
};

// Throws Error{invalid_argument}: a state was saved by other operators, or is damaged.
[[noreturn]] void fail_state();

// Reads a stage's numbers in the order in which they were written. Calls fail_state() if a number
// is missing or larger than `most`.
class PlanNumbers {
 public:
  explicit PlanNumbers(const PlanState& state, size_t input_count)
      : rest_(state.numbers), inputs_(state.inputs) {
    if (inputs_.size() != input_count) fail_state();
  }

  uint64_t next(uint64_t most = UINT64_MAX) {
    if (rest_.empty() || rest_.front() > most) fail_state();
    const uint64_t number = rest_.front();
    rest_ = rest_.subspan(1);
    return number;
  }
  bool next_bool() { return next(1) == 1; }
  std::span<const uint64_t> rest() const { return rest_; }
  const PlanState& input(size_t i = 0) const { return inputs_[i]; }

 private:
  std::span<const uint64_t> rest_;
  std::span<const PlanState> inputs_;
};

}  // namespace recordpipe::internal
