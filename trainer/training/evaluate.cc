#include "trainer/training/evaluate.h"

#include "dataset/base/error.h"

namespace recordpipe {

BatchResult evaluate(Backend& backend, const Network& network, Variables& variables,
                     const Dataset<ImageBatch>& batches, size_t batch_size,
                     const std::function<bool()>& stop) {
  const auto runner =
      backend.make_runner(network, variables, {.batch_size = batch_size, .mode = Mode::inference});
  BatchResult total;
  for (const ImageBatch& batch : batches) {
    if (stop())
      throw Error({.kind = ErrorKind::cancelled, .reason = "the evaluation was interrupted"});
    runner->load(batch);
    const BatchResult result = runner->forward();
    total.loss += result.loss * static_cast<double>(result.images);
    total.correct += result.correct;
    total.images += result.images;
  }
  if (total.images > 0) total.loss /= static_cast<double>(total.images);
  return total;
}

}  // namespace recordpipe
