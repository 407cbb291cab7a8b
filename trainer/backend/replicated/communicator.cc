#include "recordpipe/trainer/backend/replicated/communicator.h"

#include <optional>
#include <span>

#include "trainer/backend/replicated/flat_slot.h"

namespace recordpipe {

bool any(Communicator& communicator, bool here) {
  double count = here ? 1 : 0;
  communicator.all_reduce_sum(std::span(&count, 1));
  return count > 0;
}

void share_variables(Communicator& communicator, Variables& variables) {
  if (any(communicator, variables.has_averages()) && !variables.has_averages())
    variables.start_averages();
  for (FlatSlot& slot : kept_slots(variables)) {
    slot.read();
    communicator.broadcast(std::as_writable_bytes(slot.values()));
    slot.write();
  }
  // The processes have the same backend, so that all or none of them scale gradients.
  if (std::optional<LossScale> scale = variables.loss_scale()) {
    communicator.broadcast(std::as_writable_bytes(std::span(&*scale, 1)));
    variables.set_loss_scale(scale);
  }
}

}  // namespace recordpipe
