// Files of this machine and at URLs, for Python's main thread.
#pragma once

#include "recordpipe/io/file.h"

namespace recordpipe::python {

// The same files. What may wait for a server ends when the handler of a signal raises, and doesn't
// hold the GIL. Never destroyed: threads may use it when the process ends.
FileSystem& interruptible_files(FileSystem& files);

}  // namespace recordpipe::python
