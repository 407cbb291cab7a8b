// Uploads batches to the GPU: copies a batch to one of two pinned slots, sends it on a separate
// stream while the GPU computes, then moves it to the network's input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "recordpipe/image/image_batch.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/layers/layer.h"

namespace recordpipe::cuda {

class Upload {
 public:
  // `to` is the network's input. `device` must outlive this object.
  Upload(const Device& device, const InputOp& op, Tensor& to);

  // Returns once `batch` may be reused. Throws Error{invalid_argument} for 16-bit images.
  void send(const ImageBatch& batch);

  // In device memory: the labels of the images, and their number.
  const int32_t* labels() const { return labels_.as<int32_t>(); }
  const uint32_t* images() const { return labels_.as<uint32_t>() + to_.images(); }

 private:
  // A slot may be refilled after it was sent; its copy on the device, after it was consumed.
  struct Slot {
    std::unique_ptr<PinnedBuffer> host;
    Buffer device;
    Event sent, taken;
  };

  Slot& wait_for_slot();
  void copy_to_slot(Slot& slot, size_t offset, const void* from, size_t bytes);
  void start_sending(Slot& slot, std::span<const int32_t> labels, size_t bytes);

  const Device& device_;
  const InputOp op_;
  Tensor& to_;
  const size_t pixels_offset_;  // in a slot, after the labels and the number of images
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  Buffer labels_;
};

}  // namespace recordpipe::cuda
