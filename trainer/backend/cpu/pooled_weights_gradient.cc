#include "trainer/backend/cpu/pooled_weights_gradient.h"

#include <algorithm>

#include <omp.h>

#include "trainer/backend/cpu/kernels/kernel_vectors.h"

namespace recordpipe {
namespace {

constexpr size_t lanes = 16, taps = 9;
constexpr size_t cache = 24 << 10;  // bytes: most of an L1 cache

using Lanes = kernels::Lanes16;
using V = Lanes::Vector;
typedef int32_t Pixels __attribute__((vector_size(64)));

}  // namespace

PooledWeightsGradient::PooledWeightsGradient(const CpuTensor& input, const CpuTensor& output)
    : input_(input),
      output_(output),
      pitch_(input.shape().width + 2),
      windows_(input.shape().height / 2 * (input.shape().width / 2)),
      rows_at_once_(std::max<size_t>(2, cache / (2 * pitch_ * lanes * sizeof(float))) - 1),
      images_at_once_(
          std::clamp<size_t>(rows_at_once_ / (input.shape().height / 2), 1, input.images())) {}

RECORDPIPE_CLONES void PooledWeightsGradient::find_gradients(size_t height, size_t width,
                                                             const float* output_gradient,
                                                             size_t first_pixel, size_t filter_step,
                                                             Window* windows) {
  const V* gradients = kernels::pixels_of<Lanes>(output_gradient);
  const auto pitch = static_cast<int32_t>(width + 2);
  for (size_t i = 0; i + 1 < height; i += 2)
    for (size_t j = 0; j + 1 < width; j += 2, ++windows) {
      const V* window = gradients + i * width + j;
      const V right = window[1], lower = window[width], lower_right = window[width + 1];
      const V gradient = window[0] + right + (lower + lower_right);
      Pixels pixel = Pixels{} + static_cast<int32_t>(first_pixel + i * (width + 2) + j);
      pixel += right != 0 ? Pixels{} + 1 : Pixels{};
      pixel += lower != 0 ? Pixels{} + pitch : Pixels{};
      pixel += lower_right != 0 ? Pixels{} + pitch + 1 : Pixels{};
      for (size_t lane = 0; lane < lanes; ++lane)
        windows[lane * filter_step] = {pixel[lane], gradient[lane]};
    }
}

RECORDPIPE_CLONES void PooledWeightsGradient::add(std::span<const Window> windows, size_t pitch,
                                                  const float* padded_input, float* sums) {
  V* all = kernels::pixels_of<Lanes>(sums);
  V parts[taps];
  for (size_t tap = 0; tap < taps; ++tap) parts[tap] = all[tap];
  for (const Window& window : windows) {
    const V* x = kernels::pixels_of<Lanes>(padded_input) + window.pixel;
    for (size_t tap = 0; tap < taps; ++tap)
      parts[tap] += window.gradient * x[tap / 3 * pitch + tap % 3];
  }
  for (size_t tap = 0; tap < taps; ++tap) all[tap] = parts[tap];
}

void PooledWeightsGradient::compute(const float* output_gradient,
                                    std::span<float> weights_gradient) {
  const size_t filters = output_.shape().channels, channels = input_.shape().channels;
  const size_t filter_sums = input_.channel_blocks() * taps * lanes;
  while (scratch_.size() < static_cast<size_t>(omp_get_max_threads())) {
    using internal::AlignedVector;
    const size_t padded_image = (input_.shape().height + 2) * pitch_ * lanes;
    const size_t image_windows = output_.channel_blocks() * lanes * windows_;
    scratch_.push_back({.padded_input = AlignedVector<float>(images_at_once_ * padded_image),
                        .sums = AlignedVector<float>(filters * filter_sums),
                        .windows = std::vector<Window>(images_at_once_ * image_windows)});
  }
#pragma omp parallel for schedule(static)
  for (size_t thread = 0; thread < scratch_.size(); ++thread)
    std::ranges::fill(scratch_[thread].sums, 0.0f);
#pragma omp parallel for schedule(static)
  for (size_t image = 0; image < input_.images(); image += images_at_once_)
    add_images(image, output_gradient, scratch_[static_cast<size_t>(omp_get_thread_num())]);
#pragma omp parallel for schedule(static)
  for (size_t filter = 0; filter < filters; ++filter)
    for (size_t channel = 0; channel < channels; ++channel)
      for (size_t tap = 0; tap < taps; ++tap) {
        float sum = 0;
        for (const Scratch& scratch : scratch_)
          sum += scratch.sums.data()[filter * filter_sums + (channel / lanes * taps + tap) * lanes +
                                     channel % lanes];
        weights_gradient[(filter * channels + channel) * taps + tap] = sum;
      }
}

void PooledWeightsGradient::add_images(size_t first, const float* output_gradient,
                                       Scratch& scratch) const {
  const size_t images = std::min(images_at_once_, input_.images() - first);
  const size_t height = input_.shape().height, width = input_.shape().width;
  const size_t in_blocks = input_.channel_blocks(), out_blocks = output_.channel_blocks();
  const size_t padded_image = (height + 2) * pitch_;
  const size_t filter_step = images_at_once_ * windows_;
  for (size_t image = 0; image < images; ++image)
    for (size_t block = 0; block < out_blocks; ++block)
      find_gradients(
          height, width,
          output_gradient + ((first + image) * out_blocks + block) * output_.plane_size(),
          image * padded_image, filter_step,
          scratch.windows.data() + block * lanes * filter_step + image * windows_);

  const size_t windows = images * windows_, at_once = rows_at_once_ * (width / 2);
  for (size_t block = 0; block < in_blocks; ++block) {
    for (size_t image = 0; image < images; ++image)
      for (size_t i = 0; i < height; ++i)
        std::copy_n(
            input_.output() + ((first + image) * in_blocks + block) * input_.plane_size() +
                i * width * lanes,
            width * lanes,
            scratch.padded_input.data() + (image * padded_image + (i + 1) * pitch_ + 1) * lanes);
    for (size_t begin = 0; begin < windows; begin += at_once)
      for (size_t filter = 0; filter < output_.shape().channels; ++filter)
        add({scratch.windows.data() + filter * filter_step + begin,
             std::min(at_once, windows - begin)},
            pitch_, scratch.padded_input.data(),
            scratch.sums.data() + (filter * in_blocks + block) * taps * lanes);
  }
}

}  // namespace recordpipe
