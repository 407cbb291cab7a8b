// TensorBoard's Event: what an event file holds, a record each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/trainer/summary/summary.h"

namespace recordpipe {

enum class SessionStatus {
  start,       // the event's step is the first that will be made: TensorBoard forgets what other
               // events say of it and of later ones, which were made before a crash
  stop,        // no more will come
  checkpoint,  // one was saved
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

  // About how much memory it takes.
  size_t bytes() const;
};

// The record: a message of proto/event.proto. Throws Error{invalid_argument} for images that no PNG
// file can hold.
std::string encode_event(const Event& event);

}  // namespace recordpipe
