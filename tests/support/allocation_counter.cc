#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

#ifdef RECORDPIPE_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace recordpipe {
namespace {

std::atomic<size_t> count{0};

}  // namespace

size_t allocations() { return count; }

#ifdef RECORDPIPE_SANITIZED

// Sanitizers replace operator new, and the program must not override it. The hooks are called for
// each allocation, including malloc's.
namespace {

void count_allocation(const volatile void* /*memory*/, size_t /*size*/) { ++count; }
void ignore_free(const volatile void* /*memory*/) {}

[[maybe_unused]] const int installed =
    __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free);

}  // namespace
}  // namespace recordpipe

#else

void* counted(void* memory) {
  ++count;
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace recordpipe

// The array and nothrow forms call these operators.
void* operator new(size_t size) { return recordpipe::counted(std::malloc(size ? size : 1)); }

void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return recordpipe::counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
