#include "recordpipe/trainer/session/share_restored.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace recordpipe {

void share_restored(Communicator& processes, Variables& variables,
                    std::optional<RestoredCheckpoint>& restored) {
  share_variables(processes, variables);
  TrainingState state = restored ? restored->state : TrainingState{};
  std::array<uint64_t, 5> numbers = {restored ? 1u : 0u, state.step, state.seed, state.data_seed,
                                     state.input_state.size()};
  processes.broadcast(std::as_writable_bytes(std::span(numbers)));
  const auto [is_restored, step, seed, data_seed, size] = numbers;
  state.input_state.resize(size);
  processes.broadcast(std::as_writable_bytes(std::span(state.input_state)));
  if (!is_restored || processes.rank() == 0) return;
  restored = RestoredCheckpoint{.state = {.step = step,
                                          .seed = seed,
                                          .data_seed = data_seed,
                                          .input_state = std::move(state.input_state)}};
}

}  // namespace recordpipe
