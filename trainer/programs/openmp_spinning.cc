#include "trainer/programs/openmp_spinning.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <sys/auxv.h>
#include <unistd.h>

namespace recordpipe {

void limit_openmp_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/1);
  // AT_BASE, the loader's address, is 0 if the loader was called as a program ("ld.so PROGRAM"):
  // then /proc/self/exe is the loader. It is also 0 for a program that is linked statically.
  if (::getauxval(AT_BASE) == 0) return;
  // By its own path: after an exec of /proc/self/exe, process lists would show "exe".
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(program.c_str(), argv);
  // If the restart fails, the program still works, but more slowly.
}

}  // namespace recordpipe
