#include "recordpipe/trainer/summary/summary.h"

#include <algorithm>

namespace recordpipe {

ImageSummary summarize_images(const ImageBatch& batch, size_t max_outputs) {
  ImageSummary summary;
  summary.images.reset(batch.format(), std::min(batch.size(), max_outputs));
  const size_t bytes = summary.images.size() * batch.format().bytes_per_image();
  if (bytes > 0) std::ranges::copy(batch.bytes().first(bytes), summary.images.image_at(0));
  return summary;
}

}  // namespace recordpipe
