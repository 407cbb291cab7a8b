// How long idle OpenMP threads spin.
#pragma once

namespace recordpipe {

// Call it first in main. libgomp's threads spin for some ten milliseconds at each barrier before
// they sleep. That is right on a machine of one's own; where another program wants a core, or the
// input pipeline does, a step takes ten times as long or worse. A spin of some microseconds is
// enough to bridge the gaps within a step. libgomp takes the length from the environment when it
// is loaded, so this sets GOMP_SPINCOUNT and starts the program again, once; an environment that
// says something about it already is left alone.
void limit_openmp_spinning(char** argv);

}  // namespace recordpipe
