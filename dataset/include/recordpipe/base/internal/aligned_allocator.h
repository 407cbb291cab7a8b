// Vectors whose memory starts at a multiple of 64 bytes: a cache line, and the alignment at which
// consumers (XLA, DLPack) use an array without copying it.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace recordpipe::internal {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <class U>
  explicit AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace recordpipe::internal
