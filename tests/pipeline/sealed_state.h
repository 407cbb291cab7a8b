// Serialises saved iterators with libprotobuf, for states that a test has edited.
#pragma once

#include <string>

#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/proto/iterator_state.pb.h"
#include "tests/support/bytes.h"

namespace recordpipe {

// Returns the bytes that Iterator::state() returns for this state, with a correct CRC.
inline std::string sealed(proto::IteratorState state) {
  state.clear_crc32c();
  std::string serialized = state.SerializeAsString();
  proto::IteratorState tail;
  tail.set_crc32c(crc32c(as_bytes(serialized)));
  tail.AppendToString(&serialized);
  return serialized;
}

}  // namespace recordpipe
