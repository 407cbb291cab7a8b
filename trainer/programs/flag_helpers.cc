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
         "cpu: oneDNN. cuda: a GPU. reference: plain loops, slow. auto: cuda where it can be "
         "used, else cpu")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "reference"}));
}

void add_sync(CLI::App& app, bool& sync) {
  add_boolean(app, "--sync", sync,
              "Train in all processes that `mpirun -n N` has started, each with a batch of its "
              "own, their gradients averaged; the first one saves, logs and evaluates");
}

void add_precision(CLI::App& app, std::string& precision) {
  app.add_option("--precision", precision,
                 "What --device cuda multiplies and keeps activations in; weights and sums are "
                 "fp32 in each. The other devices have fp32 only")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16", "fp16"}));
}

void check_precision(const std::string& precision, const std::string& device) {
  if (precision != "fp32" && device != "cuda" && device != "auto")
    throw CLI::ValidationError(
        "--precision", precision + " needs --device cuda: --device " + device + " has fp32 only");
}

void add_confusion_matrix(CLI::App& app, bool& confusion_matrix) {
  add_boolean(app, "--confusion-matrix", confusion_matrix,
              "Print what the images of each class were taken for, before the accuracy");
}

void add_seed(CLI::App& app, uint64_t& seed) {
  add_number<uint64_t>(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Of initial weights, order and distortions");
}

void add_threads(CLI::App& app, size_t& intra, size_t& inter) {
  add_number<size_t>(app, "--num-intra-threads", intra, 0, most_threads,
                     "Threads that compute; 0: one for each core");
  add_number<size_t>(app, "--num-inter-threads", inter, 0, most_threads,
                     "Threads that make batches; 0: one, which is plenty");
}

void add_checkpoints(CLI::App& app, uint64_t& steps, size_t& keep) {
  add_number<uint64_t>(app, "--checkpoint-steps", steps, 1, most_steps,
                       "Steps between two checkpoints");
  add_number<size_t>(app, "--keep-checkpoints", keep, 1, 1'000'000, "How many are kept");
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
