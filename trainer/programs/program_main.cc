#include "trainer/programs/program_main.h"

#include <exception>
#include <optional>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "tools/interrupt.h"
#include "tools/standard_descriptors.h"
#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/openmp_spinning.h"

namespace recordpipe {

int program_main(const char* name, int argc, char** argv,
                 const std::function<int(int argc, char** argv)>& run) {
  open_standard_descriptors();
  limit_openmp_spinning(argv);  // it may start the program again: before signals are blocked
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%H:%M:%S %^%v%$");
  try {
    // A step may be long, and its checkpoint large.
    const Interrupt interrupt(std::nullopt);
    return run(argc, argv);
  } catch (const UsageError& usage) {
    return usage.exit_code;
  } catch (const std::exception& error) {
    spdlog::error("{}: {}", name, error.what());
    return 1;
  }
}

}  // namespace recordpipe
