#include "recordpipe/trainer/training/evaluate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/summary/image_summary.h"
#include "trainer/training/test_time_augmentation.h"

namespace recordpipe {
namespace {

// The softmax of the largest logit; NaN if any logit is.
double greatest_probability(std::span<const float> logits, float greatest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - greatest));
  return 1 / sum;
}

// Descending confidence; those without a probability last, equal ones in the order of the data.
bool comes_before(const Mistake& a, const Mistake& b) {
  const auto rank = [](double probability) { return std::isnan(probability) ? -1 : probability; };
  if (rank(a.probability) != rank(b.probability)) return rank(a.probability) > rank(b.probability);
  return a.image < b.image;
}

// Keeps the first `most` mistakes.
class MistakeList {
 public:
  explicit MistakeList(size_t most) : max_(most) {}

  void offer(Mistake mistake, const ImageBatch& batch, size_t row) {
    if (max_ == 0) return;
    if (heap_.size() == max_) {
      if (!comes_before(mistake, heap_.front())) return;
      std::ranges::pop_heap(heap_, comes_before);
      heap_.pop_back();
    }
    mistake.pixels = summary_pixels(batch, row);
    heap_.push_back(std::move(mistake));
    std::ranges::push_heap(heap_, comes_before);
  }

  std::vector<Mistake> take() {
    std::ranges::sort(heap_, comes_before);
    return std::move(heap_);
  }

 private:
  const size_t max_;
  std::vector<Mistake> heap_;  // the last in order is at the front
};

}  // namespace

Evaluation evaluate(Backend& backend, const Network& network, Variables& variables,
                    const Dataset<ImageBatch>& batches, const EvaluationOptions& options) {
  const auto runner = backend.make_runner(
      network, variables, {.batch_size = options.batch_size, .mode = Mode::inference});
  const size_t classes = network.classes();
  Evaluation evaluation = {.confusion = ConfusionMatrix(classes), .image = network.input_shape()};
  BatchResult& total = evaluation.total;
  MistakeList mistakes(options.max_mistakes);
  for (const ImageBatch& batch : batches) {
    if (options.stop())
      throw Error({.kind = ErrorKind::cancelled, .reason = "the evaluation was interrupted"});
    const auto [logits, result] = forward_augmented(*runner, network, batch, options.augmentation);
    for (size_t row = 0; row < batch.size(); ++row) {
      const auto of_row = std::span(logits).subspan(row * classes, classes);
      const auto greatest = std::ranges::max_element(of_row);
      const auto label = static_cast<size_t>(batch.labels()[row]);
      const auto prediction = static_cast<size_t>(greatest - of_row.begin());
      evaluation.confusion.add(label, prediction);
      if (prediction != label)
        mistakes.offer({.image = total.images + row,
                        .label = label,
                        .prediction = prediction,
                        .probability = greatest_probability(of_row, *greatest)},
                       batch, row);
    }
    total.loss += result.loss * static_cast<double>(result.images);
    total.correct += result.correct;
    total.images += result.images;
  }
  if (total.images > 0) total.loss /= static_cast<double>(total.images);
  evaluation.mistakes = mistakes.take();
  return evaluation;
}

}  // namespace recordpipe
