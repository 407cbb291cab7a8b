// How well a network does on images it wasn't trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recordpipe/dataset.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/training/confusion_matrix.h"

namespace recordpipe {

// The mean loss, how many images were classified correctly, and how many there were. Each image of
// `batches` counts once; the last batch may be smaller than `batch_size`. `stop` is asked before
// each batch: once it is true, Error{cancelled} is thrown.
BatchResult evaluate(
    Backend& backend, const Network& network, Variables& variables,
    const Dataset<ImageBatch>& batches, size_t batch_size,
    const std::function<bool()>& stop = [] { return false; });

// An image that was taken for another class than its own.
struct Mistake {
  uint64_t image = 0;  // its place in the data, from 0
  size_t label = 0;
  size_t prediction = 0;
  double probability = 0;  // that the network gave the prediction
  // The image to look at, [height][width][channels] of Evaluation::image, as summary_pixels() makes
  // it (trainer/include/recordpipe/trainer/summary/image_summary.h).
  std::vector<uint8_t> pixels = {};
};

struct Evaluation {
  BatchResult total = {};          // what evaluate() returns
  ConfusionMatrix confusion = {};  // of all classes that the network chooses from
  FeatureShape image = {};         // what all images are
  // Of the images that were classified wrongly those with the greatest probability of the
  // prediction, that one first; among equals in the order of the data.
  std::vector<Mistake> mistakes = {};
};

struct EvaluationOptions {
  size_t batch_size = 128;
  size_t most_mistakes = 60;  // that are kept
  std::function<bool()> stop = [] { return false; };
};

// evaluate(), and what was taken for what. A prediction is the first greatest logit, as that which
// Runner::forward() counts as correct: the matrix' diagonal sums up to `total.correct`. (Only
// ReferenceBackend<double> may count otherwise where two logits are equal when rounded to float.)
// It costs a copy of the logits a batch more than evaluate().
Evaluation evaluate_in_detail(Backend& backend, const Network& network, Variables& variables,
                              const Dataset<ImageBatch>& batches,
                              const EvaluationOptions& options = {});

}  // namespace recordpipe
