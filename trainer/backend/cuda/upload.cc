#include "trainer/backend/cuda/upload.h"

#include <cstring>

#include "trainer/backend/cuda/kernels/kernels.h"

namespace recordpipe::cuda {
namespace {

// Labels, followed by their number.
size_t label_bytes(size_t images) { return images * sizeof(int32_t) + sizeof(uint32_t); }

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

Upload::Upload(const Device& device, const InputOp& op, Tensor& to)
    : device_(device),
      op_(op),
      to_(to),
      pixels_offset_(aligned(label_bytes(to.images()))),
      labels_(label_bytes(to.images())) {
  const size_t bytes = pixels_offset_ + to.images() * to.shape().size() * sizeof(float);
  for (Slot& slot : slots_) {
    slot.host = std::make_unique<PinnedBuffer>(bytes);
    slot.device = Buffer(bytes);
  }
}

Upload::Slot& Upload::wait_for_slot() {
  Slot& slot = slots_[next_++ % slots_.size()];
  device_.wait(slot.sent);
  return slot;
}

void Upload::copy_to_slot(Slot& slot, size_t offset, const void* from, size_t bytes) {
  std::memcpy(slot.host->as<std::byte>() + offset, from, bytes);
}

// Sends the first `bytes` of the slot. Later work on the compute stream sees them, and the labels
// in their final place.
void Upload::start_sending(Slot& slot, std::span<const int32_t> labels, size_t bytes) {
  const auto count = static_cast<uint32_t>(labels.size());
  copy_to_slot(slot, 0, labels.data(), labels.size_bytes());
  copy_to_slot(slot, to_.images() * sizeof(int32_t), &count, sizeof(count));
  slot.taken.wait_in(device_.copies());
  copy_to_device(slot.device.data(), slot.host->as<std::byte>(), bytes, device_.copies());
  slot.sent.record(device_.copies());

  const Stream compute = device_.compute();
  slot.sent.wait_in(compute);
  copy_on_device(labels_.data(), slot.device.data(), label_bytes(to_.images()), compute);
}

void Upload::send(const ImageBatch& batch) {
  const bool uint8 = batch.format().dtype == DType::uint8;
  const void* images = uint8 ? static_cast<const void*>(batch.uint8s().data())
                             : static_cast<const void*>(batch.floats().data());
  Slot& slot = wait_for_slot();
  copy_to_slot(slot, pixels_offset_, images, batch.bytes().size());
  start_sending(slot, batch.labels(), pixels_offset_ + batch.bytes().size());
  take_images(device_.compute(), {.images = static_cast<uint32_t>(batch.size()),
                                  .pixels = static_cast<uint32_t>(to_.shape().pixels()),
                                  .image_channels = static_cast<uint32_t>(to_.shape().channels),
                                  .channels = to_.channels(),
                                  .from = slot.device.as<std::byte>() + pixels_offset_,
                                  .from_uint8 = uint8,
                                  .from_nchw = batch.format().layout == Layout::nchw,
                                  .scale = op_.scale,
                                  .shift = op_.shift,
                                  .element = to_.element(),
                                  .to = to_.data()});
  slot.taken.record(device_.compute());
}

}  // namespace recordpipe::cuda
