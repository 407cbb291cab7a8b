#include "tests/trainer/replica_training.h"

#include <algorithm>

#include "recordpipe/trainer/training/trainer.h"
#include "tests/trainer/relative_error.h"

namespace recordpipe {

ImageBatch share_of(const ImageBatch& batch, size_t rank, size_t size) {
  ImageBatch share;
  share.reset(batch.format(), batch.size() / size);
  const size_t image_size = batch.format().bytes_per_image();
  for (size_t row = 0; row < share.size(); ++row) {
    const size_t image = row * size + rank;
    std::ranges::copy(batch.bytes().subspan(image * image_size, image_size), share.image_at(row));
    share.set_label(row, batch.labels()[image]);
  }
  return share;
}

Trained train(Backend& backend, const Network& network, size_t batch_size,
              const std::function<ImageBatch(uint64_t step)>& batch_of) {
  const auto variables = backend.make_variables(network);
  initialize(*variables, 1);
  Trainer trainer(backend, network, *variables,
                  {.batch_size = batch_size, .clip_global_norm = 2, .average_decay = 0.9});
  Trained trained;
  for (uint64_t step = 0; step < 4; ++step)
    trained.losses.push_back(
        trainer.step(batch_of(step), [](uint64_t) { return 0.05; }).batch.loss);
  for (VariableId id = 0; id < network.variables().size(); ++id) {
    trained.values.push_back(variables->read(id));
    if (network.variables()[id].trained)
      trained.values.push_back(variables->read(id, Slot::average));
  }
  return trained;
}

double greatest_error(const Trained& got, const Trained& expected) {
  EXPECT_EQ(got.losses.size(), expected.losses.size());
  EXPECT_EQ(got.values.size(), expected.values.size());
  double error = 0;
  for (size_t step = 0; step < expected.losses.size(); ++step)
    error = std::max(error, std::abs(got.losses[step] / expected.losses[step] - 1));
  for (size_t id = 0; id < expected.values.size(); ++id)
    error = std::max(error, relative_error(got.values[id], expected.values[id]));
  return error;
}

}  // namespace recordpipe
