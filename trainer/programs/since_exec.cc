#include "trainer/programs/since_exec.h"

#include <ctime>
#include <fstream>
#include <limits>
#include <string>

#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// Field 22 of /proc/self/stat, in ticks since the boot. The second field, the program's name in
// parentheses, may have any characters.
double start_of_process() {
  std::ifstream stat("/proc/self/stat");
  stat.ignore(std::numeric_limits<std::streamsize>::max(), ')');
  std::string field;
  for (int skipped = 3; skipped <= 21; ++skipped) stat >> field;
  double ticks = 0;
  if (!(stat >> ticks))
    throw Error({.kind = ErrorKind::io,
                 .path = "/proc/self/stat",
                 .reason = "the start of the process can't be read"});
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double seconds_since_exec() {
  static const double start = start_of_process();
  timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - start;
}

}  // namespace recordpipe
