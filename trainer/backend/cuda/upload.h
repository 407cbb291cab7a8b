// The way of a batch to the GPU: copied to one of two slots of pinned memory, sent on a stream of
// its own, so that the GPU computes meanwhile, then taken to where the network reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "recordpipe/image/image_batch.h"
#include "trainer/backend/cuda/cuda_backend.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/layer.h"

namespace recordpipe::cuda {

class Upload {
 public:
  // `to` is the network's input. `device` must outlive it.
  Upload(const Device& device, const InputOp& op, Tensor& to);

  // Returns once `batch` may be reused. Throws Error{invalid_argument} for 16-bit images.
  void send(const ImageBatch& batch);
  // The same with images that are distorted on the device. Their sizes are checked.
  void send(const DrawnImages& images);

  // On the device: labels of the images, and how many there are.
  const int32_t* labels() const { return labels_.as<int32_t>(); }
  const uint32_t* images() const { return labels_.as<uint32_t>() + to_.images(); }

 private:
  // A slot is written again once it has been sent, and on the device once it has been taken.
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
  // In a slot: labels and the number of images, then distortions, then pixels.
  const size_t distortions_offset_, pixels_offset_;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  Buffer labels_;
  Buffer row_sums_, color_maps_;  // scratch of the distortions
};

}  // namespace recordpipe::cuda
