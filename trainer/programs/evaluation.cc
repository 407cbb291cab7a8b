#include "trainer/programs/evaluation.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/trainer/model/model_analyzer.h"

namespace recordpipe {
namespace {

void flush_standard_output() {
  if (std::fflush(stdout) != 0) throw system_error(errno, "write", "standard output");
}

}  // namespace

Evaluation evaluate_averaged(Backend& backend, const Network& network, Variables& variables,
                             const Dataset<ImageBatch>& batches, const EvaluationOptions& options) {
  if (!variables.has_averages()) return evaluate(backend, network, variables, batches, options);
  const std::unique_ptr<Variables> averaged = backend.make_variables(network);
  copy_averages(variables, *averaged);
  return evaluate(backend, network, *averaged, batches, options);
}

void print_accuracy(const BatchResult& result, uint64_t step, bool synthetic,
                    TestTimeAugmentation augmentation) {
  fmt::print("{}eval accuracy {:.2f}% ({}/{}) at step {}{}\n", synthetic ? "synthetic " : "",
             100 * static_cast<double>(result.correct) / static_cast<double>(result.images),
             result.correct, result.images, step,
             augmentation == TestTimeAugmentation::none ? ""
             : augmentation == TestTimeAugmentation::flip
                 ? ", averaged over flips"
                 : ", averaged over flips and translations");
  flush_standard_output();
}

void print_confusion(const ConfusionMatrix& confusion) {
  const std::vector<std::string> names(kCifar10ClassNames.begin(), kCifar10ClassNames.end());
  fmt::print("{}", confusion_text(confusion, names));
  flush_standard_output();
}

void print_analysis(const Network& network, const std::string& format) {
  const ModelAnalysis analysis = analyze_model(network);
  fmt::print("{}{}", format == "json" ? to_json(analysis) : to_text(analysis),
             format == "json" ? "\n" : "");
  flush_standard_output();
}

}  // namespace recordpipe
