#include <algorithm>
#include <cmath>
#include <numeric>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/model/airbench.h"

namespace recordpipe {
namespace {

constexpr size_t kernel = 2;

using Matrix = std::vector<std::vector<double>>;  // square

// The mean of x · xᵀ over the patches x = [channels][kernel][kernel] of all images.
template <class Value>
Matrix second_moments(const ImageBatch& images, std::span<const Value> values,
                      const InputOp& scaling) {
  const ImageFormat& format = images.format();
  const size_t height = format.height, width = format.width, channels = format.channels;
  const bool nchw = format.layout == Layout::nchw;
  const size_t row_stride = nchw ? width : width * channels;
  const size_t column_stride = nchw ? 1 : channels;
  const size_t channel_stride = nchw ? height * width : 1;
  std::vector<double> patch(channels * kernel * kernel);
  Matrix sums(patch.size(), std::vector<double>(patch.size()));
  for (size_t image = 0; image < images.size(); ++image)
    for (size_t i = 0; i + kernel <= height; ++i)
      for (size_t j = 0; j + kernel <= width; ++j) {
        const size_t corner =
            image * format.values_per_image() + i * row_stride + j * column_stride;
        for (size_t k = 0; k < patch.size(); ++k) {
          const size_t at = corner + k / (kernel * kernel) * channel_stride +
                            k / kernel % kernel * row_stride + k % kernel * column_stride;
          patch[k] =
              static_cast<double>(static_cast<float>(values[at]) * scaling.scale + scaling.shift);
        }
        for (size_t a = 0; a < patch.size(); ++a)
          for (size_t b = 0; b < patch.size(); ++b) sums[a][b] += patch[a] * patch[b];
      }
  const auto patches =
      static_cast<double>(images.size() * (height - kernel + 1) * (width - kernel + 1));
  for (std::vector<double>& row : sums)
    for (double& sum : row) sum /= patches;
  return sums;
}

// Jacobi's method: rotations in the plane of two axes set one off-diagonal value after another to
// zero. The diagonal becomes the eigenvalues; returns the eigenvectors as rows.
Matrix diagonalize(Matrix& a) {
  const size_t n = a.size();
  Matrix vectors(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) vectors[i][i] = 1;
  for (int sweep = 0; sweep < 30; ++sweep)  // convergence is quadratic: some ten are enough
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const double t = std::copysign(1 / (std::abs(theta) + std::sqrt(theta * theta + 1)), theta);
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto rotate = [&](double& x, double& y) {
          const double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (size_t k = 0; k < n; ++k) rotate(a[k][p], a[k][q]);
        for (size_t k = 0; k < n; ++k) rotate(a[p][k], a[q][k]);
        for (size_t k = 0; k < n; ++k) rotate(vectors[p][k], vectors[q][k]);
        a[p][q] = a[q][p] = 0;
      }
  return vectors;
}

}  // namespace

std::vector<float> whitening_weights(const ImageBatch& images, const InputOp& scaling,
                                     double epsilon) {
  const ImageFormat& format = images.format();
  if (images.size() == 0 || format.height < kernel || format.width < kernel)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "whitening weights need images of at least 2x2 pixels"});
  Matrix moments = format.dtype == DType::uint8 ? second_moments(images, images.uint8s(), scaling)
                                                : second_moments(images, images.floats(), scaling);
  const Matrix vectors = diagonalize(moments);
  std::vector<size_t> order(vectors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return moments[i][i]; });
  std::vector<float> weights;
  for (const double sign : {1.0, -1.0})
    for (const size_t i : order)
      for (const double x : vectors[i])
        weights.push_back(static_cast<float>(sign * x / std::sqrt(moments[i][i] + epsilon)));
  return weights;
}

}  // namespace recordpipe
