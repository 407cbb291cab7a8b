// Replaces the pipeline's batches by your own: tf.train.FeedFnHook.
#pragma once

#include <functional>
#include <utility>

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

class FeedHook final : public SessionHook {
 public:
  // Called before each step. Returns a batch, which must live until the end of the step, or null
  // for the pipeline's next batch. A resumed run calls it only for its own steps.
  using Feed = std::function<const ImageBatch*(uint64_t steps_done)>;
  explicit FeedHook(Feed feed) : feed_(std::move(feed)) {}

  void before_run(TrainingSession&, RunContext& context) override {
    if (const ImageBatch* batch = feed_(context.step)) context.feed = batch;
  }

 private:
  const Feed feed_;
};

}  // namespace recordpipe
