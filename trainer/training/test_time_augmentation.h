// The logits of a batch, averaged over copies of its images: see TestTimeAugmentation.
#pragma once

#include <span>
#include <vector>

#include "recordpipe/trainer/training/evaluate.h"

namespace recordpipe {

struct AveragedLogits {
  std::vector<float> logits;  // [images][classes]
  BatchResult result;         // of these logits
};
AveragedLogits forward_augmented(Runner& runner, const Network& network, const ImageBatch& batch,
                                 TestTimeAugmentation augmentation);

}  // namespace recordpipe
