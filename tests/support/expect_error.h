// Returns the Error thrown by an action, for inspection.
#pragma once

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {

// Runs `action`, which must throw Error; otherwise, fails the test and returns Error{cancelled}.
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
