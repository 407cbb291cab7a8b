// What TensorBoard is to show of a step: numbers, histograms and images, each under a tag.
//
// They hold the values themselves, so that a training thread only has to copy; histograms and PNG
// files are made of them by encode_event(), on the thread that writes.
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

// Becomes a Histogram. Where not all values are finite, the number of those that aren't is stored
// as the scalar TAG/not_finite.
struct HistogramSummary {
  std::vector<float> values = {};
};

// Becomes PNG files, tagged TAG/image/0, TAG/image/1, ... or, of just one, TAG/image. See
// image_summary.h.
struct ImageSummary {
  ImageBatch images = {};
};

struct SummaryValue {
  std::string tag;
  std::variant<ScalarSummary, HistogramSummary, ImageSummary> content;
};

// A summary of the first `max_outputs` images of `batch`, which are copied.
ImageSummary summarize_images(const ImageBatch& batch, size_t max_outputs = 3);

}  // namespace recordpipe
