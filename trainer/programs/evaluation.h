// What the programs share of evaluating.
#pragma once

#include <cstdint>
#include <string>

#include "recordpipe/trainer/training/evaluate.h"

namespace recordpipe {

// evaluate_in_detail() with the averages of the variables, where there are some.
Evaluation evaluate_averaged(Backend& backend, const Network& network, Variables& variables,
                             const Dataset<ImageBatch>& batches, const EvaluationOptions& options);

// Prints "eval accuracy P% (correct/total) at step N" to standard output, the last line of every
// evaluation; "synthetic " before it where the data are. Throws Error where it can't be written.
void print_accuracy(const BatchResult& result, uint64_t step, bool synthetic);

// --confusion-matrix: how many images of each of CIFAR-10's classes were taken for which, each
// class's accuracy and precision, to standard output. Throws likewise.
void print_confusion(const ConfusionMatrix& confusion);

// --analyze-model: what `network` costs, as "text" or "json", to standard output. Throws likewise.
void print_analysis(const Network& network, const std::string& format);

}  // namespace recordpipe
