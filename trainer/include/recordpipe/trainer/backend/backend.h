// The interface of a backend: it makes a network's variables and computes its forward and backward
// pass. Each backend chooses its own memory layout for tensors.
//
// trainer/backend/reference is written to be read, trainer/backend/cpu and cuda for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/pipeline/chrome_trace.h"
#include "recordpipe/trainer/backend/variables.h"
#include "recordpipe/trainer/model/network.h"

namespace recordpipe {

class Communicator;

// A GPU, its driver or a library that uses it has failed. After this the process can't use the GPU
// again. The kind is io. (If there is no usable GPU, the error is Error{unsupported} instead.)
class DeviceError final : public Error {
 public:
  using Error::Error;
};

enum class Mode {
  // Batch norm normalises by the batch's statistics; backward() and update_statistics() are
  // available.
  training,
  // Batch norm normalises by the moving statistics: the result of an image depends on that image
  // only.
  inference,
};

struct RunnerOptions {
  size_t batch_size = 128;
  Mode mode = Mode::training;
  // null (default): batch norm's statistics in training are those of this runner's batch. Else the
  // processes that train this network together (replicated/communicator.h): the statistics cover
  // the batches that all of them load, which must be of the same size, and this runner computes its
  // share of the gradients; the mean of the shares is the gradient of the mean loss.
  Communicator* shared_statistics = nullptr;
  // Variables whose gradients backward() may leave out, with all that only they need.
  std::vector<VariableId> frozen = {};
};

struct BatchResult {
  double loss = 0;     // the mean over the images, without weight decay
  size_t correct = 0;  // images whose label has the greatest logit
  size_t images = 0;
};

// A network prepared for one batch size and mode. The fast backends allocate all memory in the
// constructor, and none in a step.
class Runner {
 public:
  virtual ~Runner() = default;

  // Copies the images and labels; `batch` may be reused afterwards. In training the batch must have
  // the batch size; in inference it may be smaller. Throws Error{invalid_argument} for a wrong
  // image shape, a wrong number of images or a label that is not a class.
  virtual void load(const ImageBatch& batch) = 0;
  // Computes every node for the loaded batch.
  virtual BatchResult forward() = 0;
  // Computes the gradient of the loss for each trained variable, after forward() on the same batch.
  // Without weight decay, which Variables::apply_momentum() adds. Throws Error{invalid_argument} in
  // inference.
  virtual void backward() = 0;
  // Updates batch norm's moving statistics with the batch statistics of the last forward().
  // Separate from forward() so that the caller can check the loss first: a batch whose loss is not
  // finite would damage the statistics permanently. Throws Error{invalid_argument} in inference.
  virtual void update_statistics() = 0;

  // The output of a node in the last forward(), as [images][channels][height][width], for tests and
  // debugging. The loss node has no such output.
  virtual std::vector<float> output(NodeId node) const = 0;
  // The number of zeros in that output. Usually much faster than output(), because a backend can
  // count in place.
  virtual size_t count_zeros(NodeId node) const;

  // Records each node's work in `trace` from now on, in the categories forward and backward; null:
  // stops recording. Backends that can't measure nodes record nothing.
  virtual void trace_to(std::shared_ptr<ChromeTrace> /*trace*/) {}
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // All values are zero; see initialize().
  virtual std::unique_ptr<Variables> make_variables(const Network& network) = 0;
  // Several runners may share the variables of one network. The variables must outlive the runners.
  // Throws Error{invalid_argument} for a network without a loss, for variables of another network
  // or backend, and for a batch size of 0; Error{unsupported} if the backend can't share
  // statistics; Error{limit_exceeded} if memory is insufficient.
  virtual std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                              const RunnerOptions& options) = 0;
};

// The argument checks of Backend::make_runner, Runner::load and the training-only members, the same
// for all backends. `own` is null if the variables belong to another backend.
void check_runner(const Network& network, const Variables* own, const RunnerOptions& options);
void check_batch(const ImageBatch& batch, const Network& network, const RunnerOptions& options);
void require_training(const RunnerOptions& options);
[[noreturn]] void fail_for_memory();

}  // namespace recordpipe
