// How hooks write what is no checkpoint: the training matters more than its log.
#pragma once

#include <string>

#include "recordpipe/error.h"
#include "recordpipe/trainer/session/training_session.h"

namespace recordpipe {

// Runs `write`, which hands something to an EventWriter or to the disk. Where that fails, as on a
// full disk, `note` is told so, and nothing else happens: what is not checkpoints can be done
// without. The writer tries again in a new file when more comes.
template <typename Note, typename Write>
void write_or_note(const Note& note, const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    note(std::string("not logged: ") + error.what());
  }
}

// The same with the session's note.
template <typename Write>
void write_events(const TrainingSession& session, const Write& write) {
  write_or_note([&session](const std::string& text) { session.note(text); }, write);
}

}  // namespace recordpipe
