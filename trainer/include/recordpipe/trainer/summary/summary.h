// The values of a step to show in TensorBoard: numbers, histograms and images, each under a tag.
//
// They hold copies of the values, so that the training thread only copies; encode_event() makes
// histograms and PNG files of them on the writing thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/image/image_batch.h"

namespace recordpipe {

struct ScalarSummary {
  double value = 0;  // stored as a float
};

// Becomes a Histogram. If some values are not finite, their number is stored as the scalar
// TAG/not_finite.
struct HistogramSummary {
  std::vector<float> values = {};
};

// Becomes PNG files with the tags TAG/image/0, TAG/image/1, ..., or TAG/image for a single image.
// See image_summary.h.
struct ImageSummary {
  ImageBatch images = {};
};

struct SummaryValue {
  std::string tag;
  std::variant<ScalarSummary, HistogramSummary, ImageSummary> content;
};

// A summary of the first `max_outputs` images of `batch`; copies them.
ImageSummary summarize_images(const ImageBatch& batch, size_t max_outputs = 3);

}  // namespace recordpipe
