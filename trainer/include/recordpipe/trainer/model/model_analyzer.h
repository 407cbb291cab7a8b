// The cost of a network: each variable with its size, each operation with its computation and
// output size, and totals, as in TF-slim's model_analyzer.
//
// Operations are those of an inference forward pass of one image. Each floating-point operation
// counts as one FLOP, powers and exponentials included:
//
//   convolution, dense   2 per multiply-add, taps in the padding included; 1 per output for the
//                        bias and 1 for the ReLU, if present
//   batch norm           2 per value (batch norm is one factor and one term per channel); 1 each
//                        for the residual and the ReLU, if present
//   average pooling      1 per averaged value
//   max pooling          window² - 1 comparisons per output
//   activation           4 per value: GELU's erf, SiLU's exp, and three others
//   local response norm  2 radius + 5 per value: a square, the sum, alpha, the bias, the power, a
//                        product
//   input                2 per value, 0 if not scaled
//   loss                 4 per class
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
  // The output for one image; the loss has a single number.
  FeatureShape output;
  uint64_t activation_bytes = 0;  // of the output, float32; training keeps it for each image
  uint64_t multiply_adds = 0;     // of convolutions and dense layers
  uint64_t flops = 0;
  size_t parameters = 0;  // the number of trained values in its variables
};

struct ModelTotals {
  size_t variables = 0;  // the number of values in all variables
  uint64_t variable_bytes = 0;
  size_t parameters = 0;  // the trained values among them
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

// One line per variable, operation and total, in TF-slim's format: "conv1/weights (float32
// 64x3x5x5) [4800, bytes: 19200]".
std::string to_text(const ModelAnalysis& analysis);

// {"variables": [{"name", "dtype", "shape", "count", "bytes", "trained"}, ...],
//  "operations": [{"name", "kind", "dtype", "shape", "activation_bytes", "multiply_adds", "flops",
//                  "parameters"}, ...],
//  "totals": {...}}. Names and order are those of the members above. Shapes are arrays, those of
// operations [channels, height, width]. One line, without a newline.
std::string to_json(const ModelAnalysis& analysis);

}  // namespace recordpipe
