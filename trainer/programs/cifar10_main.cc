// cifar10_main: trains and evaluates ResNet on CIFAR-10. See --help.
#include <exception>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "trainer/programs/cifar10_flags.h"
#include "trainer/programs/cifar10_training.h"
#include "trainer/programs/flag_helpers.h"
#include "trainer/programs/interrupt.h"
#include "trainer/programs/openmp_spinning.h"

int main(int argc, char** argv) {
  recordpipe::limit_openmp_spinning(argv);
  spdlog::set_default_logger(spdlog::stderr_color_mt("cifar10_main"));
  spdlog::set_pattern("%H:%M:%S %^%v%$");
  try {
    const recordpipe::Cifar10Flags flags = recordpipe::parse_cifar10_flags(argc, argv);
    recordpipe::catch_interrupts();
    return recordpipe::train_cifar10(flags);
  } catch (const recordpipe::UsageError& usage) {
    return usage.exit_code;
  } catch (const std::exception& error) {
    spdlog::error("cifar10_main: {}", error.what());
    return 1;
  }
}
