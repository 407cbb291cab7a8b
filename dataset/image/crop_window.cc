// Selection of the implementation.
#include "recordpipe/image/crop_window.h"

#include "dataset/image/crop_implementations.h"

namespace recordpipe {

void write_window(const CropWindow& window, const ImageFormat& format, const ChannelMap& map,
                  std::byte* out) {
  write_window_highway(window, format, map, out);
}

const std::vector<CropImplementation>& crop_implementations() {
  static const std::vector<CropImplementation> implementations = {
      {"portable", write_window_portable}, {"highway", write_window_highway}};
  return implementations;
}

}  // namespace recordpipe
