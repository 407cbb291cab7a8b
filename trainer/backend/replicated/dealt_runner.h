// A batch dealt out to several runners in one process: what towers and GPUs have in common.
#pragma once

#include <memory>
#include <vector>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

// Image i goes to part i mod N, as the tutorials deal them out. What is looked at comes in the
// order of the batch again. How the parts compute is for who derives from it.
class DealtRunner : public Runner {
 public:
  void load(const ImageBatch& batch) override;
  std::vector<float> output(NodeId node) const override;
  size_t count_zeros(NodeId node) const override;
  void trace_to(std::shared_ptr<ChromeTrace> trace) override;

 protected:
  // `options` are those of all parts together; each of `parts` takes as many of the images.
  DealtRunner(const Network& network, const RunnerOptions& options,
              std::vector<std::unique_ptr<Runner>> parts);

  const std::vector<std::unique_ptr<Runner>>& parts() const { return parts_; }

 private:
  const Network network_;
  const RunnerOptions options_;
  const std::vector<std::unique_ptr<Runner>> parts_;
  ImageBatch dealt_;  // a part's share
};

// The options of one part. Throws Error{invalid_argument} where the batch can't be dealt out to
// `parts` of equal size, which are called `name` ("towers").
RunnerOptions options_of_part(const RunnerOptions& options, size_t parts, const char* name);

}  // namespace recordpipe
