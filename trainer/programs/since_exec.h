// The time since the program was started.
#pragma once

namespace recordpipe {

// Since the kernel started the process, to its clock's hundredth of a second. A restart by exec(),
// as by limit_openmp_spinning(), is included.
double seconds_since_exec();

}  // namespace recordpipe
