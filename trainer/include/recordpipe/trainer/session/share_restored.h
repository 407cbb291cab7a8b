// Where several processes that train together begin: where the first one does.
#pragma once

#include <optional>

#include "recordpipe/trainer/backend/replicated/communicator.h"
#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"

namespace recordpipe {

// To be called by all `processes`, by the first one with what it has restored, if anything. Gives
// the others its variables and, as if they had restored it, the step, the seeds and the place in
// the data of its state; not the path, the settings and what was damaged.
void share_restored(Communicator& processes, Variables& variables,
                    std::optional<RestoredCheckpoint>& restored);

}  // namespace recordpipe
