// Replaces cuDNN with plain loops that sum in float and round the result once.
#include "trainer/backend/cuda/libraries/convolution.h"

#include <vector>

#include "tests/trainer/cuda_emulation/factor.h"
#include "tests/trainer/cuda_emulation/machine.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {

struct Convolution::Plan {
  Stream stream;
  ConvolutionShape shape;
  bool accumulate = false;  // in backward_data

  // Calls visit(index in x, index in w, index in y) for each product.
  template <class Visit>
  void for_each_product(Visit visit) const {
    const ConvolutionShape& s = shape;
    for (size_t image = 0; image < s.images; ++image)
      for (size_t i = 0; i < s.out_height; ++i)
        for (size_t j = 0; j < s.out_width; ++j)
          for (size_t r = 0; r < s.kernel; ++r)
            for (size_t q = 0; q < s.kernel; ++q) {
              const size_t row = i * s.stride + r - s.padding;  // may wrap around
              const size_t column = j * s.stride + q - s.padding;
              if (row >= s.in_height || column >= s.in_width) continue;
              const size_t x = ((image * s.in_height + row) * s.in_width + column) * s.in_channels;
              const size_t y = ((image * s.out_height + i) * s.out_width + j) * s.out_channels;
              for (size_t o = 0; o < s.out_channels; ++o) {
                const size_t w = ((o * s.kernel + r) * s.kernel + q) * s.in_channels;
                for (size_t c = 0; c < s.in_channels; ++c) visit(x + c, w + c, y + o);
              }
            }
  }

  size_t x_size() const {
    return size_t{shape.images} * shape.in_height * shape.in_width * shape.in_channels;
  }
  size_t w_size() const {
    return size_t{shape.out_channels} * shape.kernel * shape.kernel * shape.in_channels;
  }
  size_t y_size() const {
    return size_t{shape.images} * shape.out_height * shape.out_width * shape.out_channels;
  }
};

namespace {

// The values as factors of products; each is needed for many.
template <class T>
std::vector<float> factors(const void* values, size_t size, bool tf32) {
  std::vector<float> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = factor(static_cast<const T*>(values)[i], tf32);
  return out;
}

template <class T>
void put(const std::vector<float>& sums, T* to, bool accumulate) {
  for (size_t i = 0; i < sums.size(); ++i)
    to[i] = narrow<T>(accumulate ? widen(to[i]) + sums[i] : sums[i]);
}

}  // namespace

Convolution::Convolution(const Device& device, const ConvolutionShape& shape, bool measure)
    : plan_(std::make_unique<Plan>(Plan{.stream = device.compute(), .shape = shape})) {
  emulated_machine().has_measured_algorithms |= measure;
}
Convolution::~Convolution() = default;

void Convolution::prepare_forward(const void*, const void*, void*) {}
void Convolution::prepare_backward_data(const void*, const void*, void*, bool accumulate) {
  plan_->accumulate = accumulate;
}
void Convolution::prepare_backward_weights(const void*, const void*, void*) {}

void Convolution::forward(const void* x, const void* weights, void* y) const {
  run_on(plan_->stream, [=, plan = plan_.get()] {
    with_element(plan->shape.element, [&]<class T>(T*) {
      const std::vector<float> left = factors<T>(x, plan->x_size(), plan->shape.tf32);
      const std::vector<float> right = factors<T>(weights, plan->w_size(), plan->shape.tf32);
      std::vector<float> sums(plan->y_size());
      plan->for_each_product(
          [&](size_t ix, size_t iw, size_t iy) { sums[iy] += left[ix] * right[iw]; });
      put(sums, static_cast<T*>(y), false);
    });
  });
}

void Convolution::backward_data(const void* weights, const void* dy, void* dx) const {
  run_on(plan_->stream, [=, plan = plan_.get()] {
    with_element(plan->shape.element, [&]<class T>(T*) {
      const std::vector<float> left = factors<T>(weights, plan->w_size(), plan->shape.tf32);
      const std::vector<float> right = factors<T>(dy, plan->y_size(), plan->shape.tf32);
      std::vector<float> sums(plan->x_size());
      plan->for_each_product(
          [&](size_t ix, size_t iw, size_t iy) { sums[ix] += left[iw] * right[iy]; });
      put(sums, static_cast<T*>(dx), plan->accumulate);
    });
  });
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights) const {
  run_on(plan_->stream, [=, plan = plan_.get()] {
    with_element(plan->shape.element, [&]<class T>(T*) {
      const std::vector<float> left = factors<T>(x, plan->x_size(), plan->shape.tf32);
      const std::vector<float> right = factors<T>(dy, plan->y_size(), plan->shape.tf32);
      std::vector<float> sums(plan->w_size());
      plan->for_each_product(
          [&](size_t ix, size_t iw, size_t iy) { sums[iw] += left[ix] * right[iy]; });
      put(sums, static_cast<T*>(dweights), false);
    });
  });
}

}  // namespace recordpipe::cuda
