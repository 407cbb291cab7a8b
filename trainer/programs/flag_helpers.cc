#include "trainer/programs/flag_helpers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "recordpipe/version.h"

// The only source that includes all of CLI11: its formatter adds two seconds of compile time to
// each file.
#include <CLI/CLI.hpp>

namespace recordpipe {
namespace {

constexpr size_t most_threads = 1024;
constexpr const char* boolean_type = "true|false";

}  // namespace

void add_boolean(CLI::App& app, const std::string& name, bool& value, const std::string& text) {
  app.add_option_function<std::string>(
         name,
         [&value](const std::string& word) {
           value = word == "1" || word.front() == 't' || word.front() == 'T';
         },
         text)
      ->type_name(boolean_type)
      ->default_str(value ? "true" : "false")
      ->check(CLI::IsMember({"true", "false", "1", "0"}, CLI::ignore_case).description(""));
}

bool is_boolean(const CLI::Option& option) { return option.get_type_name() == boolean_type; }

void add_device(CLI::App& app, std::string& device) {
  app.add_option(
         "--device", device,
         "cpu: oneDNN; cuda: a GPU; reference: plain loops, slow; auto: cuda if usable, else cpu")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "reference"}));
}

void add_sync(CLI::App& app, bool& sync) {
  add_boolean(
      app, "--sync", sync,
      "Train in all processes started by `mpirun -n N`, each with its own batch and averaged "
      "gradients; the first process saves, logs and evaluates");
}

void add_precision(CLI::App& app, std::string& precision) {
  app.add_option("--precision", precision,
                 "Precision of multiplications and activations with --device cuda; weights and "
                 "sums are always fp32. Other devices support fp32 only")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16", "fp16"}));
}

void check_precision(const std::string& precision, const std::string& device) {
  if (precision != "fp32" && device != "cuda" && device != "auto")
    throw CLI::ValidationError("--precision", precision + " needs --device cuda: --device " +
                                                  device + " supports fp32 only");
}

void add_confusion_matrix(CLI::App& app, bool& confusion_matrix) {
  add_boolean(app, "--confusion-matrix", confusion_matrix,
              "Print the confusion matrix before the accuracy");
}

void add_seed(CLI::App& app, uint64_t& seed) {
  add_number<uint64_t>(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Random seed for initial weights, order and distortions");
}

void add_threads(CLI::App& app, size_t& intra, size_t& inter) {
  add_number<size_t>(app, "--num-intra-threads", intra, 0, most_threads,
                     "Threads for computation; 0: one per core");
  add_number<size_t>(app, "--num-inter-threads", inter, 0, most_threads,
                     "Threads of the input pipeline; 0: one, which is usually enough");
}

void add_checkpoints(CLI::App& app, uint64_t& steps, size_t& keep) {
  add_number<uint64_t>(app, "--checkpoint-steps", steps, 1, most_steps,
                       "Steps between checkpoints");
  add_number<size_t>(app, "--keep-checkpoints", keep, 1, 1'000'000,
                     "Number of checkpoints to keep");
}

void set_up(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " + RECORDPIPE_VERSION);
  app.option_defaults()->always_capture_default();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::vector<std::string> arguments_of(int argc, char** argv) {
  return {argv + std::min(argc, 1), argv + argc};
}

void parse_or_throw(CLI::App& app, std::vector<std::string> arguments,
                    const std::function<void()>& check) {
  try {
    std::ranges::reverse(arguments);  // CLI11 expects reverse order
    app.parse(std::move(arguments));
    check();
  } catch (const CLI::ParseError& error) {
    throw UsageError{app.exit(error) == 0 ? 0 : 2};
  }
}

}  // namespace recordpipe
