#include "trainer/programs/program_main.h"

#include <exception>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/interrupt.h"
#include "trainer/programs/openmp_spinning.h"

namespace recordpipe {

int program_main(const char* name, int argc, char** argv,
                 const std::function<int(int argc, char** argv)>& run) {
  limit_openmp_spinning(argv);
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%H:%M:%S %^%v%$");
  try {
    catch_interrupts();
    return run(argc, argv);
  } catch (const UsageError& usage) {
    return usage.exit_code;
  } catch (const std::exception& error) {
    spdlog::error("{}: {}", name, error.what());
    return 1;
  }
}

}  // namespace recordpipe
