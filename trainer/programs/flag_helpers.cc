#include "trainer/programs/flag_helpers.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/version.h"

namespace recordpipe {
namespace {

constexpr size_t max_threads = 1024;
constexpr const char* boolean_type = "true|false";

// What is wrong with a boolean, in upper or lower case; empty if nothing is.
std::string check_boolean(const std::string& word) {
  std::string lower = word;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool is_known = lower == "true" || lower == "false" || lower == "1" || lower == "0";
  return is_known ? "" : word + " not in {true,false,1,0}";
}

// No folder, file or number is empty. A shell passes '' for "$VARIABLE" if it isn't set. After
// "--option=", CLI11 would take the next argument for the value.
void refuse_empty(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1)
      throw ArgumentError(argument.substr(0, argument.size() - 1), "its value is empty");
  const auto empty = std::ranges::find(arguments, "");
  if (empty == arguments.end()) return;
  if (empty == arguments.begin()) throw ArgumentError("the first argument is empty");
  throw ArgumentError(*std::prev(empty), "its value is empty");
}

}  // namespace

template <class Number>
Option add_number(ArgumentParser& app, const std::string& name, Number& value, Number least,
                  Number most, const std::string& text, const std::function<bool(Number)>& fits,
                  const std::string& expected) {
  return app
      .add_option_function(
          name,
          [=, &value](const std::string& given) {
            const auto number = parse_number<Number>(given);
            if (!number || !(*number >= least && *number <= most) || !fits(*number))
              throw ArgumentError(
                  name, fmt::format("'{}' is not {} from {} to {}", given, expected, least, most));
            value = *number;
          },
          text)
      .type_name("N")
      .default_text(fmt::format("{}", value));
}
template Option add_number(ArgumentParser&, const std::string&, uint64_t&, uint64_t, uint64_t,
                           const std::string&, const std::function<bool(uint64_t)>&,
                           const std::string&);
template Option add_number(ArgumentParser&, const std::string&, double&, double, double,
                           const std::string&, const std::function<bool(double)>&,
                           const std::string&);

Option add_choice(ArgumentParser& app, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& text) {
  return app.add_option(name, value, text).one_of(choices);
}

void add_boolean(ArgumentParser& app, const std::string& name, bool& value,
                 const std::string& text) {
  app.add_option_function(
         name,
         [&value](const std::string& word) {
           value = word == "1" || word.front() == 't' || word.front() == 'T';
         },
         text)
      .type_name(boolean_type)
      .default_text(value ? "true" : "false")
      .check(check_boolean);
}

bool is_boolean(const Option& option) { return option.facts().type_name == boolean_type; }

void add_device(ArgumentParser& app, std::string& device) {
  add_choice(
      app, "--device", device, {"auto", "cpu", "cuda", "reference"},
      "cpu: oneDNN; cuda: a GPU; reference: plain loops, slow; auto: cuda if usable, else cpu");
}

void add_sync(ArgumentParser& app, bool& sync) {
  add_boolean(
      app, "--sync", sync,
      "Train in all processes started by `mpirun -n N`, each with its own batch and averaged "
      "gradients; the first process saves, logs and evaluates");
}

void add_precision(ArgumentParser& app, std::string& precision) {
  add_choice(app, "--precision", precision, {"fp32", "tf32", "bf16", "fp16"},
             "Precision of multiplications and activations with --device cuda; weights and "
             "sums are always fp32. Other devices support fp32 only");
}

void add_measure_algorithms(ArgumentParser& app, bool& measure_algorithms) {
  add_boolean(app, "--measure-algorithms", measure_algorithms,
              "With --device cuda: measure cuDNN's algorithms at the start and use the fastest, "
              "instead of those it predicts to be fastest. Runs then don't repeat bit for bit");
}

void check_gpu_flags(const TrainingDevice& device) {
  if (device.type == "cuda" || device.type == "auto") return;
  if (device.precision != "fp32")
    throw ArgumentError("--precision", device.precision + " needs --device cuda: --device " +
                                           device.type + " supports fp32 only");
  if (device.measure_algorithms) throw ArgumentError("--measure-algorithms", "needs --device cuda");
}

void add_confusion_matrix(ArgumentParser& app, bool& confusion_matrix) {
  add_boolean(app, "--confusion-matrix", confusion_matrix,
              "Print the confusion matrix before the accuracy");
}

void add_seed(ArgumentParser& app, uint64_t& seed) {
  add_number<uint64_t>(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Random seed for initial weights, order and distortions");
}

void add_threads(ArgumentParser& app, size_t& intra, size_t& inter) {
  add_number<size_t>(app, "--num-intra-threads", intra, 0, max_threads,
                     "Threads for computation; 0: one per core");
  add_number<size_t>(app, "--num-inter-threads", inter, 0, max_threads,
                     "Threads of the input pipeline; 0: one, which is usually enough");
}

void add_stop_grace(ArgumentParser& app, uint64_t& seconds) {
  add_number<uint64_t>(app, "--stop-grace-period-secs", seconds, 0, max_seconds,
                       "Seconds after a signal until the program ends, even if the current step "
                       "is not finished and saved; 0: no limit");
}

void add_checkpoints(ArgumentParser& app, uint64_t& steps, size_t& keep) {
  add_number<uint64_t>(app, "--checkpoint-steps", steps, 1, kMaxStep, "Steps between checkpoints");
  add_number<size_t>(app, "--keep-checkpoints", keep, 1, 1'000'000,
                     "Number of checkpoints to keep");
}

void set_up(ArgumentParser& app) {
  app.set_version(app.name() + " " + RECORDPIPE_VERSION);
  app.show_defaults();
  app.let_last_win();
}

void parse_or_throw(ArgumentParser& app, const std::vector<std::string>& arguments,
                    const std::function<void()>& check) {
  const auto check_all = [&] {
    refuse_empty(arguments);  // after the parse: --help and --version come first
    check();
  };
  if (const auto status = app.parse_or_print(arguments, check_all)) throw UsageError{*status};
}

}  // namespace recordpipe
