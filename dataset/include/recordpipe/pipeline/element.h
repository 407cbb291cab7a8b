// Defines the concept of a pipeline element, and the memory size of elements.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/record/record.h"

namespace recordpipe {

// The type of a Dataset's elements. Values are passed on by swapping, which reuses their memory, so
// default construction must be cheap. bool is excluded: the elements of a std::vector<bool> can't
// be written concurrently.
template <class T>
concept Element = std::default_initializable<T> && std::movable<T> && !std::same_as<T, bool>;

// Returns the heap memory owned by `value` in bytes; sizeof is counted separately. Used by
// memory_limit and cache(max_bytes). For your own types, define an overload in the type's
// namespace; without an overload, their heap memory is not counted.
template <class T>
uint64_t heap_bytes(const T&) {
  return 0;
}
inline uint64_t heap_bytes(const std::string& value) { return value.capacity(); }
// A record that points into a mapped file owns no memory. For a record that owns its memory, the
// result includes its path and the overhead of std::shared_ptr and the allocator (about 40 bytes).
inline uint64_t heap_bytes(const Record& record) {
  constexpr uint64_t kOverhead = 40;
  return record.owner ? record.data.size() + record.path.size() + kOverhead : 0;
}
// Containers, pairs (enumerate) and tuples (zip). Declared first, so that these types can be
// nested.
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

}  // namespace recordpipe
