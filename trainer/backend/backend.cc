#include "recordpipe/trainer/backend/backend.h"

#include <algorithm>
#include <variant>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t max_images = size_t{1} << 30;  // tensor sizes can't overflow

[[noreturn]] void refuse_call(const std::string& reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
}

}  // namespace

size_t Runner::count_zeros(NodeId node) const {
  return static_cast<size_t>(std::ranges::count(output(node), 0.0f));
}

void check_runner(const Network& network, const Variables* own, const RunnerOptions& options) {
  if (!own) refuse_call("the variables belong to another backend");
  if (!std::ranges::equal(own->specs(), network.variables()))
    refuse_call("the variables belong to another network");
  if (!std::holds_alternative<SoftmaxCrossEntropyOp>(network.nodes().back().op))
    refuse_call("the network doesn't end in a loss");
  if (options.batch_size == 0 || options.batch_size > max_images)
    refuse_call("invalid batch size: " + std::to_string(options.batch_size) + " images");
}

void check_batch(const ImageBatch& batch, const Network& network, const RunnerOptions& options) {
  const ImageFormat& format = batch.format();
  const FeatureShape& shape = network.input_shape();
  if (format.channels != shape.channels || format.height != shape.height ||
      format.width != shape.width)
    refuse_call("the network takes images of " + std::to_string(shape.height) + "x" +
                std::to_string(shape.width) + "x" + std::to_string(shape.channels) +
                ", the batch has images of " + std::to_string(format.height) + "x" +
                std::to_string(format.width) + "x" + std::to_string(format.channels));
  const std::span<const int32_t> labels = batch.labels();
  const bool fits = options.mode == Mode::training
                        ? labels.size() == options.batch_size
                        : labels.size() > 0 && labels.size() <= options.batch_size;
  if (!fits)
    refuse_call("a batch of " + std::to_string(labels.size()) + " images where " +
                (options.mode == Mode::training ? "" : "at most ") +
                std::to_string(options.batch_size) + " were expected");
  for (const int32_t label : labels)
    if (label < 0 || static_cast<size_t>(label) >= network.classes())
      refuse_call("label " + std::to_string(label) + " is not one of the network's " +
                  std::to_string(network.classes()) + " classes");
}

void require_training(const RunnerOptions& options) {
  if (options.mode != Mode::training)
    refuse_call("inference has no gradients and no new statistics");
}

void fail_for_memory() {
  throw Error({.kind = ErrorKind::limit_exceeded,
               .reason = "not enough memory for the network",
               .hint = "use a smaller batch or fewer layers"});
}

}  // namespace recordpipe
