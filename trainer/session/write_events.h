// How hooks write to an event file: the training matters more than its log.
#pragma once

#include <string>

#include "dataset/base/error.h"
#include "trainer/session/training_session.h"

namespace recordpipe {

// Runs `write`, which hands something to an EventWriter or to the disk. Where that fails, as on a
// full disk, the session's note says so, and nothing else happens: what is not checkpoints can be
// done without. The writer tries again in a new file when more comes.
template <typename Write>
void write_events(const TrainingSession& session, Write write) {
  try {
    write();
  } catch (const Error& error) {
    session.note(std::string("not logged: ") + error.what());
  }
}

}  // namespace recordpipe
