// The elements of tensors on a GPU, and their loads, stores and conversions: sixteen bytes at a
// time, to float and back. Compiled for the device by nvcc and for the host by any compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "recordpipe/image/half.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define RECORDPIPE_HOST_DEVICE __host__ __device__
#else
#define RECORDPIPE_HOST_DEVICE
#endif

namespace recordpipe::cuda {

enum class Element { float32, bfloat16, float16 };

constexpr size_t size_of(Element element) { return element == Element::float32 ? 4 : 2; }

// The channels of every tensor are padded with zeros to a multiple of this number: a pixel's
// channels are then whole packs, and tensor cores support every network.
constexpr size_t lanes_of(Element element) { return 16 / size_of(element); }

constexpr size_t padded(size_t channels, Element element) {
  return (channels + lanes_of(element) - 1) / lanes_of(element) * lanes_of(element);
}

// Calls `function` with a null pointer of the element type.
template <class Function>
void with_element(Element element, Function function) {
  switch (element) {
    case Element::float32:
      return function(static_cast<float*>(nullptr));
    case Element::bfloat16:
      return function(static_cast<BFloat16*>(nullptr));
    case Element::float16:
      return function(static_cast<Float16*>(nullptr));
  }
}

RECORDPIPE_HOST_DEVICE inline float widen(float value) { return value; }

RECORDPIPE_HOST_DEVICE inline float widen(BFloat16 value) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
#else
  return to_float(value);
#endif
}

RECORDPIPE_HOST_DEVICE inline float widen(Float16 value) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(value.bits));
#else
  return to_float(value);
#endif
}

// Rounds to nearest, ties to even.
template <class T>
RECORDPIPE_HOST_DEVICE inline T narrow(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
#ifdef __CUDA_ARCH__
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
    return to_bfloat16(value);
#endif
  } else {
#ifdef __CUDA_ARCH__
    return {__half_as_ushort(__float2half_rn(value))};
#else
    return to_float16(value);
#endif
  }
}

template <class T>
inline constexpr uint32_t kLanes = 16 / sizeof(T);

// Adjacent channels of a pixel, as many as sixteen bytes hold, as floats.
template <class T>
struct Pack {
  float lanes[kLanes<T>];
};

template <class T>
struct alignas(16) PackedElements {
  T values[kLanes<T>];
};

template <class T>
RECORDPIPE_HOST_DEVICE inline Pack<T> load(const T* from) {
  const PackedElements<T> packed = *reinterpret_cast<const PackedElements<T>*>(from);
  Pack<T> pack;
  for (uint32_t lane = 0; lane < kLanes<T>; ++lane) pack.lanes[lane] = widen(packed.values[lane]);
  return pack;
}

template <class T>
RECORDPIPE_HOST_DEVICE inline void store(T* to, const Pack<T>& pack) {
  PackedElements<T> packed;
  for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
    packed.values[lane] = narrow<T>(pack.lanes[lane]);
  *reinterpret_cast<PackedElements<T>*>(to) = packed;
}

// Stores gradients; adds them to the previous contents if `accumulate`.
template <class T>
RECORDPIPE_HOST_DEVICE inline void store_gradient(T* to, Pack<T> pack, bool accumulate) {
  if (accumulate) {
    const Pack<T> before = load(to);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane) pack.lanes[lane] += before.lanes[lane];
  }
  store(to, pack);
}

// The gradient through ReLU, given the ReLU's output. The gradient passes where the output is NaN.
RECORDPIPE_HOST_DEVICE inline float masked(float gradient, float rectified) {
  return rectified <= 0 ? 0 : gradient;
}

// fmaxf() would turn NaN into a number.
RECORDPIPE_HOST_DEVICE inline float rectify(float value) { return value < 0 ? 0 : value; }

}  // namespace recordpipe::cuda
