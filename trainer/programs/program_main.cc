#include "trainer/programs/program_main.h"

#include <exception>
#include <optional>

#include "tools/support/process/interrupt.h"
#include "trainer/programs/log.h"
#include "trainer/programs/openmp_spinning.h"
#include "trainer/programs/usage_error.h"

namespace recordpipe {

int program_main(const char* name, int argc, char** argv,
                 const std::function<int(int argc, char** argv)>& run) {
  open_standard_descriptors();
  limit_openmp_spinning(argv);  // may restart the program, so before signals are blocked
  set_up_log(name);
  try {
    // Without a time limit, unless a flag sets one: a step may be long, and its checkpoint large.
    const Interrupt interrupt(std::nullopt);
    return run(argc, argv);
  } catch (const UsageError& usage) {
    return usage.exit_code;
  } catch (const std::exception& error) {
    log_error("{}: {}", name, error.what());
    return 1;
  }
}

}  // namespace recordpipe
