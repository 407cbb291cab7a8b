// Limits the time for which idle OpenMP threads spin.
#pragma once

namespace recordpipe {

// Call it first in main. At each barrier, libgomp's threads spin for some ten milliseconds before
// they sleep. That suits a dedicated machine; if another program or the input pipeline needs a
// core, a step takes ten times as long or worse. A spin of some microseconds bridges the gaps
// within a step. libgomp reads the duration from the environment when it is loaded, so this
// function sets GOMP_SPINCOUNT and restarts the program once. An environment that already sets the
// spinning is not changed.
void limit_openmp_spinning(char** argv);

}  // namespace recordpipe
