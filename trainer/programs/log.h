// The training programs' log: lines with timestamps, on standard error.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace recordpipe {

// Must be called before the first line. `name` is the program's.
void set_up_log(const std::string& name);
// Writes only errors from now on, with the number of this process, one of several.
void log_errors_only(size_t process);

enum class LogLevel { info, warning, error };
void write_log(LogLevel level, const std::string& text);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  write_log(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace recordpipe
