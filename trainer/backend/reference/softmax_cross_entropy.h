// Softmax cross-entropy with integer labels, averaged over the batch.
//
//   logits  [images][classes]      labels  [images]
//
//   p_k = exp(logit_k) / Σ_j exp(logit_j)      t_k = s / classes, plus 1 - s at the label
//   loss = mean over the images of -Σ_k t_k · log p_k      dlogit_k = (p_k - t_k) / images
//
// s is the label smoothing (Szegedy et al. 2015, https://arxiv.org/abs/1512.00567). The gradient
// follows from ∂ log p_j / ∂ logit_k = δ_jk - p_k and Σ t = 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace recordpipe::reference {

struct LossResult {
  double loss = 0;
  size_t correct = 0;  // images whose first greatest logit is the label's
};

// `logits` and `dlogits` have labels.size() rows; overwrites `dlogits`.
template <class T>
LossResult softmax_cross_entropy(size_t classes, double label_smoothing, std::span<const T> logits,
                                 std::span<const int32_t> labels, std::span<T> dlogits) {
  LossResult result;
  const auto images = static_cast<double>(labels.size());
  const double elsewhere = label_smoothing / static_cast<double>(classes);
  for (size_t b = 0; b < labels.size(); ++b) {
    const std::span<const T> row = logits.subspan(b * classes, classes);
    const auto label = static_cast<size_t>(labels[b]);
    const auto greatest = std::max_element(row.begin(), row.end());
    if (static_cast<size_t>(greatest - row.begin()) == label) ++result.correct;

    // Subtracting the largest logit prevents overflow in exp() and doesn't change the result.
    double sum = 0;
    for (const T logit : row) sum += std::exp(static_cast<double>(logit - *greatest));
    const double log_sum = std::log(sum) + static_cast<double>(*greatest);
    for (size_t k = 0; k < classes; ++k) {
      const double log_p = static_cast<double>(row[k]) - log_sum;
      const double target = elsewhere + (k == label ? 1 - label_smoothing : 0);
      result.loss -= target * log_p / images;
      dlogits[b * classes + k] = static_cast<T>((std::exp(log_p) - target) / images);
    }
  }
  return result;
}

}  // namespace recordpipe::reference
