// How much memory an element takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/record.h"

namespace recordpipe {

// What `value` holds beside itself. For your own type, write such a function in its namespace:
// without one, what it keeps elsewhere is not seen.
template <class T>
uint64_t heap_bytes(const T&) {
  return 0;
}
inline uint64_t heap_bytes(const std::string& value) { return value.capacity(); }
// One that points into a mapped file holds nothing. One of its own memory has its path and what
// std::shared_ptr and the allocator add (about 40 bytes) in it, too.
inline uint64_t heap_bytes(const Record& record) {
  constexpr uint64_t kOverhead = 40;
  return record.owner ? record.data.size() + record.path.size() + kOverhead : 0;
}
// What enumerate, zip and others put elements into. Declared first: they are found in each other.
template <class V>
uint64_t heap_bytes(const std::vector<V>& values);
template <class V>
uint64_t heap_bytes(const std::optional<V>& value);
template <class A, class B>
uint64_t heap_bytes(const std::pair<A, B>& pair);
template <class... Ts>
uint64_t heap_bytes(const std::tuple<Ts...>& tuple);

template <class V>
uint64_t heap_bytes(const std::vector<V>& values) {
  uint64_t bytes = values.capacity() * sizeof(V);
  if constexpr (!std::is_trivially_copyable_v<V>) {
    for (const V& value : values) bytes += heap_bytes(value);
  }
  return bytes;
}
template <class V>
uint64_t heap_bytes(const std::optional<V>& value) {
  return value ? heap_bytes(*value) : 0;
}
template <class A, class B>
uint64_t heap_bytes(const std::pair<A, B>& pair) {
  return heap_bytes(pair.first) + heap_bytes(pair.second);
}
template <class... Ts>
uint64_t heap_bytes(const std::tuple<Ts...>& tuple) {
  return std::apply([](const Ts&... each) { return (uint64_t{0} + ... + heap_bytes(each)); },
                    tuple);
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
