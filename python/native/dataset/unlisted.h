// Features that parse() has not found in the first records, and leaves out of others: counted, and
// reported by a Python warning.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "recordpipe/example/unlisted_features.h"

namespace recordpipe::python {

namespace nb = nanobind;

// Returns what watches for such features; null for None. `options`: a tuple (names that may be left
// out, number of records looked into, whether to count instead of an error, hint). What is counted
// waits for warn_of_unlisted().
std::shared_ptr<UnlistedFeatures> watch_of(nb::handle options);

// Warns (UserWarning) of all that was counted since the last call; at the end of each pass. Throws
// nb::python_error if a warning is an exception; the others then wait for the next call. Needs the
// GIL.
void warn_of_unlisted();
// The same in destructors: an exception is written to standard error.
void write_unlisted() noexcept;

// Whether warn_of_unlisted() would warn. Doesn't need the GIL.
bool has_unlisted();

}  // namespace recordpipe::python
