// TensorBoard's Event, the contents of one record of an event file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/trainer/summary/summary.h"

namespace recordpipe {

enum class SessionStatus {
  start,       // its step is the next to be made: TensorBoard drops earlier events of this and
               // later steps, which were made before a crash
  stop,        // no more events follow
  checkpoint,  // a checkpoint was saved
};

struct FileVersion {};  // "brain.Event:2", the first record's

struct SessionLog {
  SessionStatus status = SessionStatus::start;
  std::string checkpoint_path = {};
};

struct Event {
  double wall_time = 0;  // in seconds since 1970
  uint64_t step = 0;
  std::variant<FileVersion, std::vector<SummaryValue>, SessionLog> what = FileVersion{};

  // The approximate memory in bytes.
  size_t bytes() const;
};

// Encodes the record: a message of proto/event.proto. Throws Error{invalid_argument} for images
// that PNG can't represent.
std::string encode_event(const Event& event);

}  // namespace recordpipe
