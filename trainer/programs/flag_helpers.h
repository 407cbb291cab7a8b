// Common parts of the command lines of the trainer's programs: strict numbers and booleans, shared
// flags, and usage errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "recordpipe/trainer/checkpoint/checkpoint.h"
#include "tools/support/command_line/argument_parser.h"
#include "trainer/programs/device.h"
#include "trainer/programs/usage_error.h"

namespace recordpipe {

constexpr size_t max_images = 1 << 20;  // in a batch
constexpr uint64_t max_seconds = 1'000'000'000;
constexpr double smallest = 1e-12, largest = 1e6;  // limits of numbers without natural ones

// An option whose value is a number in [least, most] for which `fits` is true. Number: uint64_t or
// double.
template <class Number>
Option add_number(
    ArgumentParser& app, const std::string& name, Number& value, Number least, Number most,
    const std::string& text, const std::function<bool(Number)>& fits = [](Number) { return true; },
    const std::string& expected = std::is_integral_v<Number> ? "a whole number" : "a number");

// An option whose value is one of `choices`, which --help lists.
Option add_choice(ArgumentParser& app, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& text);

// "True", "false", "1", ...; the tutorial's own flags accepted any word as true.
void add_boolean(ArgumentParser& app, const std::string& name, bool& value,
                 const std::string& text);
// Whether add_boolean made it.
bool is_boolean(const Option& option);

// --device
void add_device(ArgumentParser& app, std::string& device);
// --sync
void add_sync(ArgumentParser& app, bool& sync);
// --precision
void add_precision(ArgumentParser& app, std::string& precision);
// --measure-algorithms
void add_measure_algorithms(ArgumentParser& app, bool& measure_algorithms);
// Throws ArgumentError if no device of this type supports the precision, or measures algorithms.
void check_gpu_flags(const TrainingDevice& device);
// --confusion-matrix
void add_confusion_matrix(ArgumentParser& app, bool& confusion_matrix);
// --seed
void add_seed(ArgumentParser& app, uint64_t& seed);
// --num-intra-threads and --num-inter-threads
void add_threads(ArgumentParser& app, size_t& intra, size_t& inter);
// --stop-grace-period-secs
void add_stop_grace(ArgumentParser& app, uint64_t& seconds);
// --checkpoint-steps and --keep-checkpoints
void add_checkpoints(ArgumentParser& app, uint64_t& steps, size_t& keep);

// For a new `app`, before its options: adds --version, shows defaults in --help, and lets the last
// occurrence of a repeated flag win.
void set_up(ArgumentParser& app);

// Parses `arguments`, refuses empty values, then calls `check`, which may also throw ArgumentError.
// Prints help or the usage error, and throws UsageError, if there is nothing to run.
void parse_or_throw(
    ArgumentParser& app, const std::vector<std::string>& arguments,
    const std::function<void()>& check = [] {});

}  // namespace recordpipe
