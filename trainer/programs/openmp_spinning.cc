#include "trainer/programs/openmp_spinning.h"

#include <cstdlib>

#include <unistd.h>

namespace recordpipe {

void limit_openmp_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/1);
  ::execv("/proc/self/exe", argv);
  // It can't be started again: it works all the same, but for the time it takes.
}

}  // namespace recordpipe
