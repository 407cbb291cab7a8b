// Softmax cross-entropy: one thread per image, then their sum. A batch has a few thousand logits.
#include <cmath>

#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

template <class T>
struct OfImage {
  SoftmaxCrossEntropy loss;

  RECORDPIPE_HOST_DEVICE float logit(uint32_t image, uint32_t k) const {
    return widen(
        static_cast<const T*>(loss.logits)[static_cast<size_t>(image) * loss.channels + k]);
  }

  RECORDPIPE_HOST_DEVICE void set_gradient(uint32_t image, uint32_t k, double value) const {
    if (loss.dlogits)
      static_cast<T*>(loss.dlogits)[static_cast<size_t>(image) * loss.channels + k] =
          narrow<T>(static_cast<float>(value));
  }

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t image) const {
    LossSums sums = {};
    const uint32_t images = *loss.batch_images;
    if (image < images) {
      uint32_t greatest = 0;
      for (uint32_t k = 1; k < loss.classes; ++k)
        if (logit(image, k) > logit(image, greatest)) greatest = k;
      const auto label = static_cast<uint32_t>(loss.labels[image]);
      sums.correct = greatest == label ? 1 : 0;

      // Subtracting the largest logit prevents overflow in exp() and doesn't change the result.
      const double most = logit(image, greatest);
      double sum = 0;
      for (uint32_t k = 0; k < loss.classes; ++k)
        sum += std::exp(static_cast<double>(logit(image, k)) - most);
      const double log_sum = std::log(sum) + most;
      const double elsewhere = loss.label_smoothing / loss.classes;
      for (uint32_t k = 0; k < loss.classes; ++k) {
        const double log_p = static_cast<double>(logit(image, k)) - log_sum;
        const double target = elsewhere + (k == label ? 1 - loss.label_smoothing : 0);
        sums.loss -= target * log_p;
        set_gradient(
            image, k,
            (std::exp(log_p) - target) / images * static_cast<double>(loss.loss_scale->scale));
      }
    } else {
      for (uint32_t k = 0; k < loss.classes; ++k) set_gradient(image, k, 0);
    }
    loss.of_images[image] = sums;
  }
};

struct SumImages {
  using Sums = LossSums;
  const LossSums* of_images;
  LossSums* result;

  RECORDPIPE_HOST_DEVICE Sums load(uint32_t image, uint32_t) const { return of_images[image]; }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.loss += other.loss;
    sums.correct += other.correct;
  }
  RECORDPIPE_HOST_DEVICE void finish(uint32_t, const Sums& sums) const { *result = sums; }
};

}  // namespace

void softmax_cross_entropy(Stream stream, const SoftmaxCrossEntropy& loss) {
  with_element(loss.element, [&]<class T>(T*) { for_each(stream, loss.images, OfImage<T>{loss}); });
  finish_columns(stream, 1, loss.images, SumImages{loss.of_images, loss.result});
}

}  // namespace recordpipe::cuda
