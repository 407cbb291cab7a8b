// The Error that something throws, to be looked at.
#pragma once

#include <gtest/gtest.h>

#include "recordpipe/error.h"

namespace recordpipe {

// Runs `action`, which must throw Error; a failure of the test and an empty Error where it doesn't.
template <typename Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error({.kind = ErrorKind::cancelled, .reason = "nothing was thrown"});
}

}  // namespace recordpipe
