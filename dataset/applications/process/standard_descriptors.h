// Replacement of closed standard descriptors (">&-" in a shell).
#pragma once

namespace recordpipe {

// Opens the closed ones of standard input, output and error. Must be called first in main, before
// any file is opened: a file would get the free descriptor, and a warning would be written to it.
// Afterwards, reading a formerly closed standard input and writing a formerly closed standard
// output fail, so that no result is lost silently; output to a formerly closed standard error is
// discarded.
void open_standard_descriptors();

}  // namespace recordpipe
