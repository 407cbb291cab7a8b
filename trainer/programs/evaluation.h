// Evaluation functions shared by the programs.
#pragma once

#include <cstdint>
#include <string>

#include "recordpipe/trainer/training/evaluate.h"

namespace recordpipe {

// evaluate() with the averages of the variables, if they exist.
Evaluation evaluate_averaged(Backend& backend, const Network& network, Variables& variables,
                             const Dataset<ImageBatch>& batches, const EvaluationOptions& options);

// Prints "eval accuracy P% (correct/total) at step N" to standard output, the last line of every
// evaluation; with "synthetic " in front for synthetic data, and the test-time augmentation behind,
// if there was one. Throws Error if it can't be written.
void print_accuracy(const BatchResult& result, uint64_t step, bool synthetic,
                    TestTimeAugmentation augmentation = TestTimeAugmentation::none);

// --confusion-matrix: prints the confusion matrix of CIFAR-10's classes, with each class's accuracy
// and precision, to standard output. Throws Error if it can't be written.
void print_confusion(const ConfusionMatrix& confusion);

// --analyze-model: prints the cost of `network`, as "text" or "json", to standard output. Throws
// Error if it can't be written.
void print_analysis(const Network& network, const std::string& format);

}  // namespace recordpipe
