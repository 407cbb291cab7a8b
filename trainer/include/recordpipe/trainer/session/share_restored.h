// Sends the state restored by the first process to the other processes.
#pragma once

#include <optional>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"

namespace recordpipe {

// Must be called by all `processes`; the first one passes the restored checkpoint, if any. The
// others get its variables, step, seeds and input position, as if they had restored them; not its
// path, its settings and the list of damaged checkpoints.
void share_restored(Communicator& processes, Variables& variables,
                    std::optional<RestoredCheckpoint>& restored);

}  // namespace recordpipe
