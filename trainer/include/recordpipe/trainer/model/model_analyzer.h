// What a network costs: each variable with its size, each operation with what it computes and
// gives, and totals, as TF-slim's model_analyzer lists them.
//
// Operations are those of a forward pass of one image in inference. FLOPs count every operation on
// floats as one, a power or an exponential too:
//
//   convolution, dense   2 for each multiply-add, taps that reach into the padding included;
//                        1 an output for the bias and 1 for the ReLU, where there are
//   batch norm           2 a value (batch norm is one factor and one term a channel); 1 each for
//   the
//                        residual and the ReLU, where there are
//   average pooling      1 for each value that goes into an average
//   max pooling          window² - 1 comparisons an output
//   local response norm  2 radius + 5 a value: a square, the sum, alpha, the bias, the power, a
//                        product
//   input                2 a value, 0 where it is taken as it is
//   loss                 4 a class
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

struct VariableCost {
  std::string name;           // "conv1/weights"
  std::vector<size_t> shape;  // as it is stored: VariableSpec::shape
  bool trained = true;
  size_t count = 0;
  uint64_t bytes = 0;  // of its values, float32
};

struct OperationCost {
  std::string name;  // the node's
  std::string kind;  // the member of Network that makes it: "conv2d", "batch_norm", ...
  // What it gives for one image; the loss gives one number.
  FeatureShape output;
  uint64_t activation_bytes = 0;  // of the output, float32; a training keeps them for each image
  uint64_t multiply_adds = 0;     // of convolutions and dense layers
  uint64_t flops = 0;
  size_t parameters = 0;  // how many numbers of its variables are trained
};

struct ModelTotals {
  size_t variables = 0;  // how many numbers all variables have
  uint64_t variable_bytes = 0;
  size_t parameters = 0;  // of these, trained ones
  uint64_t parameter_bytes = 0;
  uint64_t activation_bytes = 0;
  uint64_t multiply_adds = 0;
  uint64_t flops = 0;
};

struct ModelAnalysis {
  std::vector<VariableCost> variables;    // in the order of Network::variables()
  std::vector<OperationCost> operations;  // in the order of Network::nodes()
  ModelTotals totals;
};

ModelAnalysis analyze_model(const Network& network);

// A line for each variable, operation and total, in TF-slim's words:
// "conv1/weights (float32 64x3x5x5) [4800, bytes: 19200]".
std::string to_text(const ModelAnalysis& analysis);

// {"variables": [{"name", "dtype", "shape", "count", "bytes", "trained"}, ...],
//  "operations": [{"name", "kind", "dtype", "shape", "activation_bytes", "multiply_adds", "flops",
//                  "parameters"}, ...],
//  "totals": {...}}, named and in order as the members above, shapes as arrays, an operation's as
// [channels, height, width]. One line, no end of line.
std::string to_json(const ModelAnalysis& analysis);

}  // namespace recordpipe
