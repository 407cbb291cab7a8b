#include "trainer/backend/replicated/joint_step.h"

#include <array>
#include <cstdint>
#include <span>

#include "recordpipe/crc32c.h"
#include "recordpipe/error.h"
#include "trainer/backend/replicated/flat_slot.h"

namespace recordpipe {

void require_same_start(Communicator& processes, Variables& variables, size_t batch_size) {
  uint32_t crc = crc32c(std::as_bytes(std::span(&batch_size, 1)));
  for (FlatSlot& slot : kept_slots(variables)) {
    slot.read();
    crc = crc32c_extend(crc, std::as_bytes(slot.values()));
  }
  uint32_t crc_of_first = crc;
  processes.broadcast(std::as_writable_bytes(std::span(&crc_of_first, 1)));
  if (any(processes, crc != crc_of_first))
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "the processes have different variables or batch sizes at their first step",
         .hint = "use the same flags in all processes, and share the variables of the first"});
}

BatchResult result_of_all(Communicator& processes, const BatchResult& here) {
  std::array<double, 3> sums = {here.loss, static_cast<double>(here.correct),
                                static_cast<double>(here.images)};
  processes.all_reduce_sum(std::span<double>(sums));
  return {.loss = sums[0] / static_cast<double>(processes.size()),
          .correct = static_cast<size_t>(sums[1]),
          .images = static_cast<size_t>(sums[2])};
}

}  // namespace recordpipe
