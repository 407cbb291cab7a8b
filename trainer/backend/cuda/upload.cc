#include "trainer/backend/cuda/upload.h"

#include <cstring>

#include "trainer/backend/cuda/kernels.h"

namespace recordpipe::cuda {
namespace {

// Labels, then their number.
size_t label_bytes(size_t images) { return images * sizeof(int32_t) + sizeof(uint32_t); }

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

Upload::Upload(const Device& device, const InputOp& op, Tensor& to)
    : device_(device),
      op_(op),
      to_(to),
      images_offset_(aligned(label_bytes(to.images()))),
      labels_(label_bytes(to.images())) {
  const size_t bytes = images_offset_ + to.images() * to.shape().size() * sizeof(float);
  for (Slot& slot : slots_) {
    slot.host = std::make_unique<PinnedBuffer>(bytes);
    slot.device = Buffer(bytes);
  }
}

void Upload::send(const ImageBatch& batch) {
  const bool uint8 = batch.format().dtype == DType::uint8;
  const void* images = uint8 ? static_cast<const void*>(batch.uint8s().data())
                             : static_cast<const void*>(batch.floats().data());
  Slot& slot = slots_[next_++ % slots_.size()];
  slot.sent.wait();
  auto* host = slot.host->as<std::byte>();
  const auto count = static_cast<uint32_t>(batch.size());
  std::memcpy(host, batch.labels().data(), batch.labels().size_bytes());
  std::memcpy(host + to_.images() * sizeof(int32_t), &count, sizeof(count));
  std::memcpy(host + images_offset_, images, batch.bytes().size());

  slot.taken.wait_in(device_.copies());
  copy_to_device(slot.device.data(), host, images_offset_ + batch.bytes().size(), device_.copies());
  slot.sent.record(device_.copies());

  const Stream compute = device_.compute();
  slot.sent.wait_in(compute);
  copy_on_device(labels_.data(), slot.device.data(), label_bytes(to_.images()), compute);
  take_images(compute, {.images = count,
                        .pixels = static_cast<uint32_t>(to_.shape().pixels()),
                        .image_channels = static_cast<uint32_t>(to_.shape().channels),
                        .channels = to_.channels(),
                        .from = slot.device.as<std::byte>() + images_offset_,
                        .from_uint8 = uint8,
                        .from_nchw = batch.format().layout == Layout::nchw,
                        .scale = op_.scale,
                        .shift = op_.shift,
                        .element = to_.element(),
                        .to = to_.data()});
  slot.taken.record(compute);
}

}  // namespace recordpipe::cuda
