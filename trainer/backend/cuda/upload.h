// Uploads batches to the GPU: copies a batch to one of two pinned slots, sends it on a separate
// stream while the GPU computes, then moves it to the network's input.
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
  // `to` is the network's input. `device` must outlive this object.
  Upload(const Device& device, const InputOp& op, Tensor& to);

  // Returns once `batch` may be reused. Throws Error{invalid_argument} for 16-bit images.
  void send(const ImageBatch& batch);
  // The same with images that the device distorts. Their sizes must have been checked.
  void send(const DrawnImages& images);

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
  // The layout of a slot: labels and the number of images, then distortions, then pixels.
  const size_t distortions_offset_, pixels_offset_;
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
  Buffer labels_;
  Buffer row_sums_, color_maps_;  // scratch memory of the distortions
};

}  // namespace recordpipe::cuda
