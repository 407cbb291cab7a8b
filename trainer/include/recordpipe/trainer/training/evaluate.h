// Evaluates a network on images that it was not trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recordpipe/image/image_batch.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/trainer/backend/backend.h"
#include "recordpipe/trainer/training/confusion_matrix.h"

namespace recordpipe {

// A misclassified image.
struct Mistake {
  uint64_t image = 0;  // its index in the data, from 0
  size_t label = 0;
  size_t prediction = 0;
  double probability = 0;  // of the predicted class
  // The pixels to show, [height][width][channels] of Evaluation::image, as made by summary_pixels()
  // (trainer/include/recordpipe/trainer/summary/image_summary.h).
  std::vector<uint8_t> pixels = {};
};

struct Evaluation {
  BatchResult total = {};          // the mean loss, and the counts of all images
  ConfusionMatrix confusion = {};  // of all classes of the network
  FeatureShape image = {};         // the shape of all images
  // The misclassified images with the largest probability of the prediction, in descending order;
  // equal ones in the order of the data.
  std::vector<Mistake> mistakes = {};
};

// The copies of an image whose logits are averaged.
enum class TestTimeAugmentation {
  none,
  flip,  // the image and its mirror image
  // These two with a weight of a quarter each, and both moved by a pixel, down and right as well as
  // up and left, with an eighth each. The pixels beyond the edge are reflected.
  flip_and_translate,
};

struct EvaluationOptions {
  size_t batch_size = 128;   // of the largest batch
  size_t max_mistakes = 60;  // the maximum number of mistakes kept, with their pixels
  // To be named with each result that it gave. Images are uint8 or float32.
  TestTimeAugmentation augmentation = TestTimeAugmentation::none;
  // Called before each batch: if it returns true, Error{cancelled} is thrown.
  std::function<bool()> stop = [] { return false; };
};

// Evaluates each image of `batches` once. The prediction is the first largest logit, as in
// Runner::forward(), so the diagonal of the matrix sums to `total.correct`. (Only
// ReferenceBackend<double> may count differently, if two logits are equal when rounded to float.)
Evaluation evaluate(Backend& backend, const Network& network, Variables& variables,
                    const Dataset<ImageBatch>& batches, const EvaluationOptions& options = {});

}  // namespace recordpipe
