#include "trainer/backend/cpu/layers/loss_layer.h"

#include "recordpipe/base/error.h"
#include "trainer/backend/reference/softmax_cross_entropy.h"

namespace recordpipe {

CpuLoss::CpuLoss(const SoftmaxCrossEntropyOp& op, CpuTensor& logits)
    : label_smoothing_(op.label_smoothing), logits_(logits), gradient_(logits.size()) {
  if (logits.lanes() != 1)
    throw Error({.kind = ErrorKind::unsupported, .reason = "logits must come from a dense layer"});
  labels_.reserve(logits.images());
}

void CpuLoss::forward() {
  const size_t classes = logits_.shape().channels;
  const reference::LossResult loss = reference::softmax_cross_entropy<float>(
      classes, label_smoothing_, {logits_.output(), labels_.size() * classes}, labels_, gradient_);
  result_ = {.loss = loss.loss, .correct = loss.correct, .images = labels_.size()};
}

void CpuLoss::prepare_backward(GradientPool&) {
  logits_.gradient_parts.push_back(gradient_.data());
}

}  // namespace recordpipe
