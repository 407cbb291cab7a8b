// The backend on NVIDIA GPUs: cuDNN for convolutions, cuBLASLt for dense layers, own kernels for
// the rest, each pass of a step started as one CUDA graph.
//
// It is linked against cuDNN and cuBLASLt: a program that has it doesn't start where those
// libraries are missing. The driver need not be there; then the constructor says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

namespace cuda {
class Device;
}

// What activations and their gradients are, and what multiplies them. Variables, their gradients
// and momenta, batch norm's statistics and all sums are float32 in each.
enum class CudaPrecision {
  fp32,  // float32, multiplied as such
  tf32,  // float32, multiplied with 10 bits of mantissa by tensor cores
  bf16,  // bfloat16
  fp16,  // float16; gradients are scaled, see CudaBackendOptions::loss_scale
};

struct CudaBackendOptions {
  size_t device = 0;  // as CUDA counts those that CUDA_VISIBLE_DEVICES leaves
  CudaPrecision precision = CudaPrecision::fp32;

  // fp16 only: gradients are computed times this, a power of two, and divided by it again. After a
  // step whose gradients overflow the scale is halved, and the update left out; after
  // loss_scale_growth_interval updates in a row it is doubled.
  float loss_scale = 1024;
  uint32_t loss_scale_growth_interval = 2000;

  // cuDNN's algorithms: those it expects to be the fastest, or those that are, measured when a
  // runner is made. Either way only those whose results are the same at every run; but two
  // measurements may choose two algorithms.
  bool measure_algorithms = false;
  // What cuDNN and cuBLASLt may use beside the tensors.
  size_t workspace_bytes = size_t{256} << 20;
  // Off: every kernel is started by itself, as debuggers like it.
  bool graphs = true;
};

// Images whose distortions were drawn but not done: that is the GPU's work.
struct DrawnImages {
  enum class Colors {
    kept,          // crop and flip only, as pad_crop_flip()
    changed,       // as crop_flip_color() with Standardize::no
    standardized,  // as crop_flip_color() with Standardize::yes
  };
  ImageSize size;                   // at most four times the pixels of the network's input
  std::span<const uint8_t> pixels;  // [images][channels][size.height][size.width]
  std::span<const int32_t> labels;  // [images]
  std::span<const CropFlipColor> distortions;  // [images]
  Colors colors = Colors::kept;
};

// What make_runner() of a CudaBackend gives.
class CudaDistortingRunner : public Runner {
 public:
  using Runner::load;
  // As load(), with a batch that is distorted on the GPU: the network sees the same values, bit for
  // bit, as of a float32 batch that was distorted by the functions above. Throws
  // Error{invalid_argument} where load() does, for pixels or distortions that are not as many as
  // the labels say, and for a contrast that isn't above 0 or more than four channels where colours
  // change.
  virtual void load_drawn(const DrawnImages& images) = 0;
};

// The same GPU, options and libraries give the same bits at every run.
//
// A training runner's forward() starts the backward pass too and waits for the loss only: the GPU
// computes gradients while the host looks at the loss and loads the next batch. backward() has
// nothing left to do, and gradients may be read changed after a forward() alone.
//
// One thread at a time may use the backend, its variables and its runners.
class CudaBackend final : public Backend {
 public:
  // Throws Error{unsupported} that says what is missing (a driver, a GPU, one of compute capability
  // 8.0 or later, cuDNN), Error{invalid_argument} for options that make no sense and
  // Error{limit_exceeded} where the GPU's memory is taken.
  explicit CudaBackend(const CudaBackendOptions& options = {});

  // "cuda, NVIDIA H100 80GB HBM3, fp32, CUDA 13.0, cuDNN 9.19.0"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  // Throws Error{unsupported} also where cuDNN has no algorithm for a convolution, and for
  // shared_statistics.
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;

  const std::shared_ptr<cuda::Device>& device() const { return device_; }

 private:
  CudaBackendOptions options_;
  std::shared_ptr<cuda::Device> device_;
};

}  // namespace recordpipe
