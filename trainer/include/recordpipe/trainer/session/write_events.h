// How hooks write logs: a failure to write must not end the training.
#pragma once

#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

// Calls `write`, which passes data to an EventWriter or to the disk. If that fails, for example on
// a full disk, reports it to `note` and returns: only checkpoints are indispensable. The writer
// retries in a new file at the next event.
template <typename Note, typename Write>
void write_or_note(const Note& note, const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    note(std::string("not logged: ") + error.what());
  }
}

// The same for the note of a session.
template <typename Write>
void write_events(const TrainingSession& session, const Write& write) {
  write_or_note([&session](const std::string& text) { session.note(text); }, write);
}

}  // namespace recordpipe
