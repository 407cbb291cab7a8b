// A batch distributed over several runners in one process: the common part of towers and GPUs.
#pragma once

#include <memory>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

// Image i goes to part i mod N, as in the tutorials. Outputs are returned in batch order. Derived
// classes decide how the parts compute.
class DealtRunner : public Runner {
 public:
  void load(const ImageBatch& batch) override;
  std::vector<float> output(NodeId node) const override;
  size_t count_zeros(NodeId node) const override;
  void trace_to(std::shared_ptr<ChromeTrace> trace) override;

 protected:
  // `options` are those of the whole batch; each of `parts` gets an equal share of the images.
  DealtRunner(const Network& network, const RunnerOptions& options,
              std::vector<std::unique_ptr<Runner>> parts);

  const std::vector<std::unique_ptr<Runner>>& parts() const { return parts_; }

 private:
  const Network network_;
  const RunnerOptions options_;
  const std::vector<std::unique_ptr<Runner>> parts_;
  ImageBatch dealt_;  // a part's share
};

// The options of one part. Throws Error{invalid_argument} if the batch can't be divided into
// `parts` of equal size; `name` ("towers") is what the message calls them.
RunnerOptions options_of_part(const RunnerOptions& options, size_t parts, const char* name);

}  // namespace recordpipe
