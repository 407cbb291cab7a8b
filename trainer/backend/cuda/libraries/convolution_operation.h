// A convolution and its gradients as operations of cuDNN's graph interface.
#pragma once

#include <string>

#include "trainer/backend/cuda/libraries/algorithm_choice.h"
#include "trainer/backend/cuda/libraries/convolution.h"
#include "trainer/backend/cuda/libraries/cudnn_graph.h"

namespace recordpipe::cuda {

enum class Direction { forward, backward_data, backward_weights };

// "the forward pass of a convolution of 128 images of 16x32x32 to 16x32x32, kernel 3, ...", with
// all that distinguishes an operation from others.
std::string text_of(Direction direction, const ConvolutionShape& shape, bool accumulate);

// The ids of its tensors: x 0, weights 1, y 2, or those of their gradients. `accumulate`: the
// result is added to the previous contents.
CudnnDescriptor operation_of(Direction direction, const ConvolutionShape& shape, bool accumulate);

AlgorithmOffer offer_of(const CudnnEngineConfig& config, Direction direction,
                        const ConvolutionShape& shape);

}  // namespace recordpipe::cuda
