// Batches of one's own in place of the pipeline's: tf.train.FeedFnHook.
#pragma once

#include <functional>
#include <utility>

#include "recordpipe/trainer/session/session_hook.h"

namespace recordpipe {

class FeedHook final : public SessionHook {
 public:
  // Asked before each step: a batch, which must live until the step is over, or null for the
  // pipeline's next one. A run that is resumed asks for the steps it makes only.
  using Feed = std::function<const ImageBatch*(uint64_t steps_done)>;
  explicit FeedHook(Feed feed) : feed_(std::move(feed)) {}

  void before_run(TrainingSession&, RunContext& context) override {
    if (const ImageBatch* batch = feed_(context.step)) context.feed = batch;
  }

 private:
  const Feed feed_;
};

}  // namespace recordpipe
