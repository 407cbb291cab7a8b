// What a backend must do to train a network: hold its variables and compute its forward and
// backward pass. How tensors lie in memory is the backend's own business.
//
// trainer/backend/reference is the one to read, trainer/backend/cpu the fast one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/chrome_trace.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

class Communicator;

enum class Mode {
  // Batch norm takes the batch's statistics; backward() and update_statistics() work.
  training,
  // Batch norm takes the moving statistics: each image's result depends on that image only.
  inference,
};

struct RunnerOptions {
  size_t batch_size = 128;
  Mode mode = Mode::training;
  // In training batch norm takes the statistics of what all these processes have loaded, batches of
  // the same size (replicated/communicator.h); null: of this runner's batch. A runner then gives
  // its share of the gradients: their mean over the processes is the gradient of the mean loss. A
  // backend that can't do it throws Error{unsupported}.
  Communicator* shared_statistics = nullptr;
};

struct BatchResult {
  double loss = 0;     // the mean over the images, without weight decay
  size_t correct = 0;  // images whose label has the greatest logit
  size_t images = 0;
};

// A network made ready for one batch size and mode. All memory is taken when it is made; a step
// takes none.
class Runner {
 public:
  virtual ~Runner() = default;

  // Takes the images and labels; `batch` may be reused after it returns. In training the batch
  // must be of the batch size, in inference it may be smaller. Throws Error{invalid_argument} for
  // another image shape, another number of images or a label that is not a class.
  virtual void load(const ImageBatch& batch) = 0;
  // Computes every node for the batch that was loaded.
  virtual BatchResult forward() = 0;
  // Computes the gradient of the loss (weight decay is the optimiser's) for each trained variable,
  // after forward() on the same batch. Throws Error{invalid_argument} in inference.
  virtual void backward() = 0;
  // Moves batch norm's moving statistics towards the batch's of the last forward(). Apart from
  // forward(), because what a batch with a loss that is no number does to them would stay: whoever
  // trains looks at the loss first. Throws Error{invalid_argument} in inference.
  virtual void update_statistics() = 0;

  // What a node gave in the last forward(), as [images][channels][height][width]: for tests and
  // for looking inside. The loss has no such output.
  virtual std::vector<float> output(NodeId node) const = 0;
  // How many of these numbers are 0. Where a backend can count them where they lie, that is far
  // faster than to read them.
  virtual size_t count_zeros(NodeId node) const;

  // From now on what each node does is put down in `trace`, in the categories forward and backward;
  // null: no more. A backend that can't tell puts down nothing.
  virtual void trace_to(std::shared_ptr<ChromeTrace> /*trace*/) {}
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // All zeros: see initialize().
  virtual std::unique_ptr<Variables> make_variables(const Network& network) = 0;
  // Several runners may share the variables of one network, which must outlive them. Throws
  // Error{invalid_argument} for a network without a loss, for variables of another network or
  // backend and for no images, Error{limit_exceeded} where there isn't enough memory.
  virtual std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                              const RunnerOptions& options) = 0;
};

// What Backend::make_runner, Runner::load and what is for training only refuse, the same for all
// backends. `own` is null where the variables are another backend's.
void check_runner(const Network& network, const Variables* own, const RunnerOptions& options);
void check_batch(const ImageBatch& batch, const Network& network, const RunnerOptions& options);
// The part of check_batch() that is about how many images there are and what they are labelled.
void check_labels(std::span<const int32_t> labels, const Network& network,
                  const RunnerOptions& options);
void require_training(const RunnerOptions& options);
[[noreturn]] void fail_for_memory();

}  // namespace recordpipe
