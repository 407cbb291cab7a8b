#include "trainer/backend/replicated/dealt_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "recordpipe/error.h"

namespace recordpipe {

DealtRunner::DealtRunner(const Network& network, const RunnerOptions& options,
                         std::vector<std::unique_ptr<Runner>> parts)
    : network_(network), options_(options), parts_(std::move(parts)) {}

void DealtRunner::load(const ImageBatch& batch) {
  check_batch(batch, network_, options_);
  const size_t image_size = batch.format().bytes_per_image();
  for (size_t part = 0; part < parts_.size(); ++part) {
    dealt_.reset(batch.format(), batch.size() / parts_.size());
    for (size_t row = 0; row < dealt_.size(); ++row) {
      const size_t image = row * parts_.size() + part;
      std::ranges::copy(batch.bytes().subspan(image * image_size, image_size),
                        dealt_.image_at(row));
      dealt_.set_label(row, batch.labels()[image]);
    }
    parts_[part]->load(dealt_);
  }
}

std::vector<float> DealtRunner::output(NodeId node) const {
  std::vector<float> all;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const std::vector<float> values = parts_[part]->output(node);
    all.resize(values.size() * parts_.size());
    const size_t rows = options_.batch_size / parts_.size(), size = values.size() / rows;
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(&values[row * size], size, &all[(row * parts_.size() + part) * size]);
  }
  return all;
}

size_t DealtRunner::count_zeros(NodeId node) const {
  size_t zeros = 0;
  for (const auto& part : parts_) zeros += part->count_zeros(node);
  return zeros;
}

void DealtRunner::trace_to(std::shared_ptr<ChromeTrace> trace) {
  for (const auto& part : parts_) part->trace_to(trace);
}

RunnerOptions options_of_part(const RunnerOptions& options, size_t parts, const char* name) {
  if (options.batch_size % parts != 0)
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = "a batch of " + std::to_string(options.batch_size) +
                   " images can't be divided into " + std::to_string(parts) + " " + name +
                   " of equal size",
         .hint = std::string("the batch size must be a multiple of the number of ") + name});
  RunnerOptions of_part = options;
  of_part.batch_size /= parts;
  return of_part;
}

}  // namespace recordpipe
