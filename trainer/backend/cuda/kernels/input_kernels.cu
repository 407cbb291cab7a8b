// Scales and shifts the images of a batch and makes channels the last dimension.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

// One pack: adjacent channels of one pixel.
template <class T, class Value>
struct TakePack {
  TakeImages take;

  RECORDPIPE_HOST_DEVICE void operator()(uint32_t index) const {
    const uint32_t packs = take.channels / kLanes<T>;
    const uint32_t row = index / packs, first = index % packs * kLanes<T>;
    const uint32_t image = row / take.pixels, pixel = row % take.pixels;
    const auto* from = static_cast<const Value*>(take.from) +
                       static_cast<size_t>(image) * take.pixels * take.image_channels;
    Pack<T> pack;
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) {
      const uint32_t channel = first + lane;
      pack.lanes[lane] = 0;
      if (channel >= take.image_channels) continue;
      const uint32_t at =
          take.from_nchw ? channel * take.pixels + pixel : pixel * take.image_channels + channel;
      pack.lanes[lane] = static_cast<float>(from[at]) * take.scale + take.shift;
    }
    store(static_cast<T*>(take.to) + static_cast<size_t>(index) * kLanes<T>, pack);
  }
};

}  // namespace

void take_images(Stream stream, const TakeImages& take) {
  with_element(take.element, [&]<class T>(T*) {
    const uint32_t packs = take.images * take.pixels * (take.channels / kLanes<T>);
    if (take.from_uint8)
      for_each(stream, packs, TakePack<T, uint8_t>{take});
    else
      for_each(stream, packs, TakePack<T, float>{take});
  });
}

}  // namespace recordpipe::cuda
