// The backend's own kernels: everything except convolutions and matrix products.
//
// Tensors are [images][pixels][channels], with channels padded with zeros to whole packs (see
// element.h); `channels` includes the padding, `rows` is images · pixels. All pointers are device
// pointers; all work is enqueued on `stream`. trainer/backend/reference has the formulas and
// references.
//
// `accumulate` adds a gradient to its previous contents instead of overwriting them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recordpipe/trainer/model/network.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/element.h"
#include "trainer/backend/cuda/loss_scale.h"

namespace recordpipe::cuda {

// The number of floats for partial sums over rows: `fields` sums per channel.
size_t partial_sums_size(uint32_t rows, uint32_t channels, Element element, uint32_t fields);
// The number of counters of blocks that have stored their partial sums. They are zero before and
// after.
size_t arrived_size(uint32_t channels, Element element);

// --- input_kernels.cu ---

struct TakeImages {
  uint32_t images, pixels;
  uint32_t image_channels;  // of the images
  uint32_t channels;        // of the tensor
  const void* from;         // uint8 or float, [images][pixels][channels] or
                            // [images][channels][pixels]
  bool from_uint8, from_nchw;
  float scale, shift;  // value · scale + shift
  Element element;
  void* to;
};
void take_images(Stream stream, const TakeImages& take);

// --- batch_norm_kernels.cu ---

struct BatchNorm {
  Element element;
  uint32_t rows, channels;
  uint32_t real_channels;  // without padding
  bool relu;
  double epsilon;

  const void* x;
  const void* residual;  // may be null
  void* y;
  const void* dy;
  void* dx;
  void* dresidual;  // may be null
  bool accumulate_dx, accumulate_dresidual;

  // [channels]
  const float *gamma, *beta;  // gamma may be null: 1
  const float *moving_mean, *moving_variance;
  float *new_mean, *new_variance;   // the batch's, for the moving ones; the variance is unbiased
  float *dgamma, *dbeta;            // dgamma may be null
  float *mean, *inverse_deviation;  // of the batch
  float *scale, *shift;             // normalisation: x · scale + shift
  float *a, *b, *c;                 // the gradient: a · g + b · x + c
  float* partial_sums;              // partial_sums_size(rows, channels, element, 3)
  uint32_t* arrived;                // arrived_size(channels, element)
  const DeviceLossScale* loss_scale;
};
// Computes the batch's mean and deviation, the new statistics, scale and shift.
void batch_norm_statistics(Stream stream, const BatchNorm& norm);
// moving = decay · moving + (1 - decay) · batch's, for `size` values.
void move_statistics(Stream stream, uint32_t size, double decay, const float* batch, float* moving);
// Computes scale and shift from the moving statistics.
void batch_norm_moving_scale(Stream stream, const BatchNorm& norm);
// y = x · scale + shift, plus the residual, then ReLU.
void batch_norm_apply(Stream stream, const BatchNorm& norm);
// Computes dgamma, dbeta, dresidual, and the coefficients a, b and c.
void batch_norm_gradient_sums(Stream stream, const BatchNorm& norm);
// Computes dx, after the sums.
void batch_norm_gradient(Stream stream, const BatchNorm& norm);

// --- bias_relu_kernels.cu ---

struct BiasRelu {
  Element element;
  uint32_t rows, channels;
  bool relu;
  void* y;              // modified in place
  const float* bias;    // may be null
  void* dy;             // ReLU's mask is applied in place
  float* dbias;         // may be null
  float* partial_sums;  // partial_sums_size(rows, channels, element, 1)
  uint32_t* arrived;    // arrived_size(channels, element)
  const DeviceLossScale* loss_scale;
};
// y = max(0, y + bias)
void bias_relu(Stream stream, const BiasRelu& bias);
void bias_relu_gradient(Stream stream, const BiasRelu& bias);

// --- pooling_kernels.cu ---

struct MaxPool {
  Element element;
  uint32_t images, channels;
  uint32_t height, width, out_height, out_width;
  uint32_t window, stride, padding_top, padding_left;  // window at most 256
  const void* x;
  void* y;
  uint16_t* chosen;  // per y: row in the window · window + column
  const void* dy;
  void* dx;
  bool accumulate;
};
void max_pool(Stream stream, const MaxPool& pool);
void max_pool_gradient(Stream stream, const MaxPool& pool);

struct PoolAndPad {
  Element element;
  uint32_t images;
  uint32_t height, width, stride;         // of x
  uint32_t channels, out_channels;        // of the tensors
  uint32_t real_channels, first_channel;  // of x; the channel of y for x's first one
  const void* x;
  void* y;
  const void* dy;
  void* dx;
  bool accumulate;
};
void pool_and_pad(Stream stream, const PoolAndPad& pool);
void pool_and_pad_gradient(Stream stream, const PoolAndPad& pool);

struct GlobalAveragePool {
  Element element;
  uint32_t images, pixels, channels;
  const void* x;
  void* y;
  const void* dy;
  void* dx;
  bool accumulate;
};
void global_average_pool(Stream stream, const GlobalAveragePool& pool);
void global_average_pool_gradient(Stream stream, const GlobalAveragePool& pool);

// --- activation_kernels.cu ---

struct ActivationWork {
  Element element;
  Activation function;
  uint32_t packs;  // in the tensor
  const void* x;
  void* y;
  const void* dy;
  void* dx;
  bool accumulate;
};
void activation(Stream stream, const ActivationWork& work);
void activation_gradient(Stream stream, const ActivationWork& work);

// --- local_response_norm_kernels.cu ---

struct LocalResponseNorm {
  Element element;
  uint32_t rows, channels, radius;
  float bias, alpha, beta;
  const void* x;
  void* y;
  float* divisor;  // [rows][channels], from forward to backward
  const void* dy;
  void* dx;
  bool accumulate;
};
void local_response_norm(Stream stream, const LocalResponseNorm& norm);
void local_response_norm_gradient(Stream stream, const LocalResponseNorm& norm);

// --- loss_kernels.cu ---

struct LossSums {
  double loss = 0;  // Σ over the images
  uint32_t correct = 0;
};

struct SoftmaxCrossEntropy {
  Element element;
  uint32_t images;  // capacity
  uint32_t classes, channels;
  double label_smoothing;
  const void* logits;
  const int32_t* labels;
  const uint32_t* batch_images;  // the number of valid images
  void* dlogits;                 // may be null; zeros for invalid images
  LossSums* of_images;           // [images]
  LossSums* result;
  const DeviceLossScale* loss_scale;  // the factor of dlogits
};
void softmax_cross_entropy(Stream stream, const SoftmaxCrossEntropy& loss);

// --- count_kernels.cu ---

struct CountZeros {
  Element element;
  uint32_t rows, channels;
  uint32_t real_channels;  // without padding
  const void* values;
  uint32_t* partial_counts;  // partial_counts_size(rows, channels, element): scratch memory
  uint32_t* result;          // a tensor has fewer than 2^31 values
};
size_t partial_counts_size(uint32_t rows, uint32_t channels, Element element);
void count_zeros(Stream stream, const CountZeros& count);

// --- gradient_kernels.cu ---

// A part of a trained variable, at most kGradientPiece values.
inline constexpr uint32_t kGradientPiece = 4096;
struct GradientPiece {
  uint32_t begin, end, variable;
};
struct GradientTreatment {
  float weight_decay, multiplier;
  uint32_t frozen;
  bool operator==(const GradientTreatment&) const = default;
};
// Variables::process_gradients(), which documents the steps and their order.
struct GradientWork {
  uint32_t variables, piece_count;
  const GradientPiece* pieces;          // [piece_count], in the order of the variables
  const uint32_t* first_pieces;         // [variables + 1]
  const GradientTreatment* treatments;  // [variables]
  const float* values;
  float* gradients;
  double clip_norm, clip_global_norm;  // 0: none
  double* squares;                     // gradient_squares_size(piece_count): scratch memory
  double *norms, *factors;             // [variables]
};
size_t gradient_squares_size(uint32_t pieces);
void process_gradients(Stream stream, const GradientWork& work);

// --- update_kernels.cu ---

struct MomentumUpdate {
  uint32_t size;
  float *values, *momenta;
  const float* gradients;
  float learning_rate, momentum, weight_decay;
  bool nesterov;
  const DeviceLossScale* loss_scale;  // after an overflow nothing is updated
};
void update_with_momentum(Stream stream, const MomentumUpdate& update);

struct MuonUpdate {
  uint32_t size;
  float *values, *momenta, *direction;
  const float* gradients;
  float learning_rate, momentum;
  float rows;       // of the matrix, without padding
  double* squares;  // squares_size(size) + 1: scratch memory
  const DeviceLossScale* loss_scale;
};
// momenta = momentum · momenta + gradients, direction = gradients + momentum · momenta.
void muon_direction(Stream stream, const MuonUpdate& update);
// Divides the direction by its norm + 1e-7.
void muon_normalize(Stream stream, const MuonUpdate& update);
// values = values · √rows / ‖values‖ - learning_rate · direction
void muon_apply(Stream stream, const MuonUpdate& update);
// y = a · x + b · y
void combine(Stream stream, uint32_t size, float a, const float* x, float b, float* y);

// averages += share · (values - averages)
void update_averages(Stream stream, uint32_t size, float share, const float* values,
                     float* averages);

// Sets the scale's overflow flag if a gradient is not finite.
void find_overflow(Stream stream, const float* gradients, uint32_t size, DeviceLossScale* scale);
// Halves the scale after an overflow; doubles it after `growth_interval` steps without one.
void adapt_loss_scale(Stream stream, uint32_t growth_interval, DeviceLossScale* scale);

// to = from, converted to another precision.
void copy_weights(Stream stream, uint32_t size, const float* from, Element element, void* to);
// to = from / scale
void copy_gradients(Stream stream, uint32_t size, Element element, const void* from,
                    const DeviceLossScale* scale, float* to);

// Computes sums of squares of blocks of `values`: squares_size(size) sums.
size_t squares_size(uint32_t size);
void sum_squares(Stream stream, uint32_t size, const float* values, double* squares);

}  // namespace recordpipe::cuda
