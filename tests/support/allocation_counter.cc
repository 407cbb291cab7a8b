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

// The array and nothrow forms call these.
void* operator new(size_t size) { return recordpipe::counted(std::malloc(size ? size : 1)); }

void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return recordpipe::counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
