// What the sources of kernels are written with: a pixel's lanes as one vector, and functions that
// are compiled for several instruction sets. For those sources only.
#pragma once

// Clang and other processors take what the compiler makes of the plain loops.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define RECORDPIPE_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define RECORDPIPE_CLONES
#endif
// Vectors as arguments have no fixed calling convention, but what takes them here is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#define RECORDPIPE_INLINE __attribute__((always_inline)) inline

namespace recordpipe::kernels {

// One pixel of a plane, as a type to pick functions by. The compiler splits what the processor's
// registers can't hold. Clang forgets `aligned` in a using-declaration and of a type that is itself
// a template's argument.
struct Lanes16 {
  typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
};
struct Lanes8 {
  typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));
};
struct Lane {
  using Vector = float;
};

template <class Lanes>
RECORDPIPE_INLINE const typename Lanes::Vector* pixels_of(const float* data) {
  return reinterpret_cast<const typename Lanes::Vector*>(data);
}

template <class Lanes>
RECORDPIPE_INLINE typename Lanes::Vector* pixels_of(float* data) {
  return reinterpret_cast<typename Lanes::Vector*>(data);
}

}  // namespace recordpipe::kernels

// Calls NAME_of<so many lanes>.
#define RECORDPIPE_FOR_LANES(name, ...)       \
  switch (lanes) {                            \
    case 16:                                  \
      return name##_of<Lanes16>(__VA_ARGS__); \
    case 8:                                   \
      return name##_of<Lanes8>(__VA_ARGS__);  \
    default:                                  \
      return name##_of<Lane>(__VA_ARGS__);    \
  }
