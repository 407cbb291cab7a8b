#include "trainer/backend/replicated/replica_runner.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/checksum/crc32c.h"
#include "trainer/backend/replicated/flat_slot.h"

namespace recordpipe {

ReplicaRunner::ReplicaRunner(const Network& network, Variables& variables,
                             const RunnerOptions& options,
                             std::vector<std::unique_ptr<Runner>> replicas, Communicator& processes)
    : network_(network),
      variables_(variables),
      options_(options),
      replicas_(std::move(replicas)),
      processes_(processes) {}

void ReplicaRunner::load(const ImageBatch& batch) {
  if (replicas_.size() == 1) return replicas_.front()->load(batch);
  check_batch(batch, network_, options_);
  const size_t image_size = batch.format().bytes_per_image();
  for (size_t replica = 0; replica < replicas_.size(); ++replica) {
    share_.reset(batch.format(), batch.size() / replicas_.size());
    for (size_t row = 0; row < share_.size(); ++row) {
      const size_t image = row * replicas_.size() + replica;
      std::ranges::copy(batch.bytes().subspan(image * image_size, image_size),
                        share_.image_at(row));
      share_.set_label(row, batch.labels()[image]);
    }
    replicas_[replica]->load(share_);
  }
}

BatchResult ReplicaRunner::forward() {
  if (!std::exchange(same_start_, true)) require_same_start();
  for (const auto& replica : replicas_) start(*replica);
  double loss = 0;
  size_t correct = 0, images = 0;
  for (const auto& replica : replicas_) {
    const BatchResult result = result_of(*replica);
    loss += result.loss;
    correct += result.correct;
    images += result.images;
  }
  std::array<double, 3> sums = {loss / static_cast<double>(replicas_.size()),
                                static_cast<double>(correct), static_cast<double>(images)};
  processes_.all_reduce_sum(std::span<double>(sums));
  return {.loss = sums[0] / static_cast<double>(processes_.size()),
          .correct = static_cast<size_t>(sums[1]),
          .images = static_cast<size_t>(sums[2])};
}

void ReplicaRunner::require_same_start() {
  if (processes_.size() == 1) return;
  uint32_t crc = crc32c(std::as_bytes(std::span(&options_.batch_size, 1)));
  for (FlatSlot& slot : kept_slots(variables_)) {
    slot.read();
    crc = crc32c_extend(crc, std::as_bytes(slot.values()));
  }
  uint32_t crc_of_first = crc;
  processes_.broadcast(std::as_writable_bytes(std::span(&crc_of_first, 1)));
  if (any(processes_, crc != crc_of_first))
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "the processes have different variables or batch sizes at their first step",
         .hint = "use the same flags in all processes, and share the variables of the first"});
}

std::vector<float> ReplicaRunner::output(NodeId node) const {
  std::vector<float> all;
  for (size_t replica = 0; replica < replicas_.size(); ++replica) {
    const std::vector<float> values = replicas_[replica]->output(node);
    all.resize(values.size() * replicas_.size());
    const size_t rows = options_.batch_size / replicas_.size(), size = values.size() / rows;
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(&values[row * size], size, &all[(row * replicas_.size() + replica) * size]);
  }
  return all;
}

size_t ReplicaRunner::count_zeros(NodeId node) const {
  size_t zeros = 0;
  for (const auto& replica : replicas_) zeros += replica->count_zeros(node);
  return zeros;
}

void ReplicaRunner::trace_to(std::shared_ptr<ChromeTrace> trace) {
  for (const auto& replica : replicas_) replica->trace_to(trace);
}

RunnerOptions options_of_replica(const RunnerOptions& options, size_t count, const char* name) {
  if (options.batch_size % count != 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "a batch of " + std::to_string(options.batch_size) +
                   " images can't be divided into " + std::to_string(count) + " " + name +
                   " of equal size",
         .hint = std::string("the batch size must be a multiple of the number of ") + name});
  RunnerOptions of_replica = options;
  of_replica.batch_size /= count;
  return of_replica;
}

void all_reduce_mean(std::span<float> sums, size_t replicas, Communicator& processes) {
  processes.all_reduce_sum(sums);
  const float share = 1 / static_cast<float>(replicas * processes.size());
  for (float& value : sums) value *= share;
}

}  // namespace recordpipe
