// Common parts of the command lines of the trainer's programs: strict numbers and booleans, shared
// flags, and usage errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "trainer/programs/parse_number.h"
#include "trainer/programs/usage_error.h"

namespace recordpipe {

constexpr size_t most_images = 1 << 20;  // in a batch
constexpr uint64_t most_steps = 1'000'000'000'000;
constexpr double smallest = 1e-12, largest = 1e6;  // limits of numbers without natural ones

// An option whose value is a number in [least, most] for which `fits` is true.
template <class Number>
CLI::Option* add_number(
    CLI::App& app, const std::string& name, Number& value, Number least, Number most,
    const std::string& text, const std::function<bool(Number)>& fits = [](Number) { return true; },
    const std::string& expected = std::is_integral_v<Number> ? "a whole number" : "a number") {
  return app
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& given) {
            const auto number = parse_number<Number>(given);
            if (!number || !(*number >= least && *number <= most) || !fits(*number))
              throw CLI::ValidationError(
                  name, fmt::format("'{}' is not {} from {} to {}", given, expected, least, most));
            value = *number;
          },
          text)
      ->type_name("N")
      ->default_str(fmt::format("{}", value));
}

// "True", "false", "1", ...; the tutorial's own flags accepted any word as true.
void add_boolean(CLI::App& app, const std::string& name, bool& value, const std::string& text);
// Whether add_boolean made it.
bool is_boolean(const CLI::Option& option);

// --device
void add_device(CLI::App& app, std::string& device);
// --sync
void add_sync(CLI::App& app, bool& sync);
// --precision
void add_precision(CLI::App& app, std::string& precision);
// Throws CLI::ValidationError if no such device supports this precision.
void check_precision(const std::string& precision, const std::string& device);
// --confusion-matrix
void add_confusion_matrix(CLI::App& app, bool& confusion_matrix);
// --seed
void add_seed(CLI::App& app, uint64_t& seed);
// --num-intra-threads and --num-inter-threads
void add_threads(CLI::App& app, size_t& intra, size_t& inter);
// --checkpoint-steps and --keep-checkpoints
void add_checkpoints(CLI::App& app, uint64_t& steps, size_t& keep);

// For a new `app`, before its options: adds --version, shows defaults in --help, and lets the last
// occurrence of a repeated flag win.
void set_up(CLI::App& app);

// The arguments of main(), without the program's name.
std::vector<std::string> arguments_of(int argc, char** argv);

// Parses `arguments`, then calls `check`, which may also throw CLI::ValidationError. Prints help or
// the usage error, and throws UsageError, if there is nothing to run.
void parse_or_throw(
    CLI::App& app, std::vector<std::string> arguments, const std::function<void()>& check = [] {});

}  // namespace recordpipe
