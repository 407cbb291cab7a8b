// Standard input, output and error of a program whose caller closed some of them (">&-").
#pragma once

namespace recordpipe {

// Make it first in main, before anything is opened: the first file would get the descriptor that is
// missing, and a warning would be written into a result. What was closed can be used afterwards,
// but reading standard input and writing standard output fail, so that no result is lost unnoticed;
// what is written to standard error is lost.
void open_standard_descriptors();

}  // namespace recordpipe
