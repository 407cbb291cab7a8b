// The way of a batch to the GPU: copied to one of two slots of pinned memory, sent on a stream of
// its own, so that the GPU computes meanwhile, then taken to where the network reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "dataset/image/image_batch.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/layer.h"

namespace recordpipe::cuda {

class Upload {
 public:
  // `to` is the network's input. `device` must outlive it.
  Upload(const Device& device, const InputOp& op, Tensor& to);

  // Returns once `batch` may be reused. Throws Error{invalid_argument} for 16-bit images.
  void send(const ImageBatch& batch);

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

  const Device& device_;
  const InputOp op_;
  Tensor& to_;
  const size_t images_offset_;  // in a slot, after the labels and the number of images
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  Buffer labels_;
};

}  // namespace recordpipe::cuda
