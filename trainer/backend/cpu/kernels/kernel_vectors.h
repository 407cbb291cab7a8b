// Tools for kernel sources only: the lanes of a pixel as one vector, and functions compiled for
// several instruction sets.
#pragma once

// With Clang and on other processors, the compiler vectorises the plain loops.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define RECORDPIPE_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define RECORDPIPE_CLONES
#endif
// Vectors have no stable calling convention, but all functions that return them here are inlined.
// They are passed by reference: this doesn't silence GCC's note about those passed by value.
#pragma GCC diagnostic ignored "-Wpsabi"
#define RECORDPIPE_INLINE __attribute__((always_inline)) inline

namespace recordpipe::kernels {

// One pixel of a plane, as a type for overload selection. The compiler splits vectors that are
// wider than the processor's registers. Clang drops `aligned` in a using-declaration and from a
// type that is itself a template argument.
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

// Calls NAME_of<lanes>.
#define RECORDPIPE_FOR_LANES(name, ...)       \
  switch (lanes) {                            \
    case 16:                                  \
      return name##_of<Lanes16>(__VA_ARGS__); \
    case 8:                                   \
      return name##_of<Lanes8>(__VA_ARGS__);  \
    default:                                  \
      return name##_of<Lane>(__VA_ARGS__);    \
  }
