#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace recordpipe {
namespace {

std::atomic<size_t> count{0};

}  // namespace

size_t allocations() { return count; }

void* counted(void* memory) {
  ++count;
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace recordpipe

// The array forms call these; so do the nothrow ones, but not under AddressSanitizer.
void* operator new(size_t size) { return recordpipe::counted(std::malloc(size ? size : 1)); }

void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return recordpipe::counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
