// The only source that includes spdlog, which takes seconds to compile.
#include "trainer/programs/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace recordpipe {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void set_up_log(const std::string& name) {
  spdlog::set_default_logger(spdlog::stderr_color_mt(name));
  spdlog::set_pattern("%H:%M:%S %^%v%$");
}

void log_errors_only(size_t process) {
  spdlog::set_level(spdlog::level::err);
  spdlog::set_pattern(fmt::format("%H:%M:%S %^process {}: %v%$", process));
}

void write_log(LogLevel level, const std::string& text) { spdlog::log(level_of(level), text); }

}  // namespace recordpipe
