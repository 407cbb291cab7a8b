// How much memory an element takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dataset/record/record.h"

namespace recordpipe {

// What `value` holds beside itself. For your own type, write such a function in its namespace:
// without one, what it keeps elsewhere is not seen.
template <class T>
uint64_t heap_bytes(const T&) {
  return 0;
}
inline uint64_t heap_bytes(const std::string& value) { return value.capacity(); }
// One that points into a mapped file holds nothing.
inline uint64_t heap_bytes(const Record& record) { return record.owner ? record.data.size() : 0; }
template <class V>
uint64_t heap_bytes(const std::vector<V>& values) {
  uint64_t bytes = values.capacity() * sizeof(V);
  if constexpr (!std::is_trivially_copyable_v<V>) {
    for (const V& value : values) bytes += heap_bytes(value);
  }
  return bytes;
}

// What `values` take together, themselves included.
template <class T>
uint64_t bytes_of(std::span<const T> values) {
  uint64_t bytes = values.size_bytes();
  if constexpr (!std::is_trivially_copyable_v<T>) {
    for (const T& value : values) bytes += heap_bytes(value);
  }
  return bytes;
}

}  // namespace recordpipe
