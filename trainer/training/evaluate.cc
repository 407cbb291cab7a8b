#include "recordpipe/trainer/training/evaluate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "recordpipe/error.h"
#include "recordpipe/trainer/summary/image_summary.h"

namespace recordpipe {
namespace {

// Runs the network over all batches; calls `each` with the runner after every forward pass.
template <class Each>
BatchResult run_over(Backend& backend, const Network& network, Variables& variables,
                     const Dataset<ImageBatch>& batches, size_t batch_size,
                     const std::function<bool()>& stop, const Each& each) {
  const auto runner =
      backend.make_runner(network, variables, {.batch_size = batch_size, .mode = Mode::inference});
  BatchResult total;
  for (const ImageBatch& batch : batches) {
    if (stop())
      throw Error({.kind = ErrorKind::cancelled, .reason = "the evaluation was interrupted"});
    runner->load(batch);
    const BatchResult result = runner->forward();
    each(batch, *runner);
    total.loss += result.loss * static_cast<double>(result.images);
    total.correct += result.correct;
    total.images += result.images;
  }
  if (total.images > 0) total.loss /= static_cast<double>(total.images);
  return total;
}

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
  explicit MistakeList(size_t most) : most_(most) {}

  void offer(Mistake mistake, const ImageBatch& batch, size_t row) {
    if (most_ == 0) return;
    if (heap_.size() == most_) {
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
  const size_t most_;
  std::vector<Mistake> heap_;  // the last in order is at the front
};

}  // namespace

BatchResult evaluate(Backend& backend, const Network& network, Variables& variables,
                     const Dataset<ImageBatch>& batches, size_t batch_size,
                     const std::function<bool()>& stop) {
  return run_over(backend, network, variables, batches, batch_size, stop,
                  [](const ImageBatch&, const Runner&) {});
}

Evaluation evaluate_in_detail(Backend& backend, const Network& network, Variables& variables,
                              const Dataset<ImageBatch>& batches,
                              const EvaluationOptions& options) {
  const size_t classes = network.classes();
  Evaluation evaluation = {.confusion = ConfusionMatrix(classes), .image = network.input_shape()};
  MistakeList mistakes(options.most_mistakes);
  uint64_t images = 0;
  const auto look = [&](const ImageBatch& batch, const Runner& runner) {
    const std::vector<float> logits = runner.output(inputs_of(network.nodes().back()).front());
    for (size_t row = 0; row < batch.size(); ++row, ++images) {
      const auto of_row = std::span(logits).subspan(row * classes, classes);
      const auto greatest = std::ranges::max_element(of_row);
      const auto label = static_cast<size_t>(batch.labels()[row]);
      const auto prediction = static_cast<size_t>(greatest - of_row.begin());
      evaluation.confusion.add(label, prediction);
      if (prediction != label)
        mistakes.offer({.image = images,
                        .label = label,
                        .prediction = prediction,
                        .probability = greatest_probability(of_row, *greatest)},
                       batch, row);
    }
  };
  evaluation.total =
      run_over(backend, network, variables, batches, options.batch_size, options.stop, look);
  evaluation.mistakes = mistakes.take();
  return evaluation;
}

}  // namespace recordpipe
