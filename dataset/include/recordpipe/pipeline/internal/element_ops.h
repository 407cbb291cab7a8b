// Type-erased element operations: one table of functions per type, so that plans, executors and
// most operators are compiled once, in the library, and not for each type in each program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/element.h"

namespace recordpipe::internal {

struct VectorOps;

struct ElementOps {
  size_t size;
  size_t alignment;
  // Value-initialises `count` elements. If a constructor throws, destroys the elements constructed
  // so far.
  void (*construct)(void* first, size_t count);
  void (*destroy)(void* first, size_t count);
  void (*swap)(void* a, void* b);
  // Heap memory owned by `count` values. Null for trivially copyable types, which own no heap
  // memory.
  uint64_t (*heap_bytes)(const void* first, size_t count);
  const VectorOps* vector;  // null if the type is not a std::vector of Elements
};

// Operations on a std::vector<T>.
struct VectorOps {
  const ElementOps& element;  // T's
  size_t (*size)(const void* vector);
  void (*resize)(void* vector, size_t size);
  void* (*data)(void* vector);
};

// Copies by assignment, for operators that keep a value and return copies.
using CopyElements = void (*)(const void* from, size_t count, void* to);
template <std::copyable T>
void copy_elements(const void* from, size_t count, void* to) {
  std::copy_n(static_cast<const T*>(from), count, static_cast<T*>(to));
}

struct NoVector {};
template <class T>
struct VectorElement {
  using type = NoVector;
};
template <class V>
struct VectorElement<std::vector<V>> {
  using type = V;
};
template <class T>
using vector_element_t = typename VectorElement<T>::type;
// True for a std::vector of Elements.
template <class T>
concept ElementVector =
    !std::same_as<vector_element_t<T>, NoVector> && Element<vector_element_t<T>>;

template <Element T>
const ElementOps& element_ops();

template <class T>
const VectorOps* vector_ops() {
  if constexpr (ElementVector<T>) {
    static const VectorOps ops{
        element_ops<vector_element_t<T>>(),
        [](const void* vector) { return static_cast<const T*>(vector)->size(); },
        [](void* vector, size_t size) { static_cast<T*>(vector)->resize(size); },
        [](void* vector) -> void* { return static_cast<T*>(vector)->data(); }};
    return &ops;
  } else {
    return nullptr;
  }
}

template <Element T>
const ElementOps& element_ops() {
  static const ElementOps ops = [] {
    ElementOps of_type{};
    of_type.size = sizeof(T);
    of_type.alignment = alignof(T);
    of_type.construct = [](void* first, size_t count) {
      std::uninitialized_value_construct_n(static_cast<T*>(first), count);
    };
    of_type.destroy = [](void* first, size_t count) {
      std::destroy_n(static_cast<T*>(first), count);
    };
    of_type.swap = [](void* a, void* b) {
      using std::swap;
      swap(*static_cast<T*>(a), *static_cast<T*>(b));
    };
    if constexpr (!std::is_trivially_copyable_v<T>) {
      of_type.heap_bytes = [](const void* first, size_t count) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; ++i) bytes += heap_bytes(static_cast<const T*>(first)[i]);
        return bytes;
      };
    }
    of_type.vector = vector_ops<T>();
    return of_type;
  }();
  return ops;
}

// The elements of enumerate: pairs of a number and an element.
struct PairOps {
  const ElementOps& pair;
  void (*set_number)(void* pair, int64_t number);
  void* (*element)(void* pair);
};
template <Element T>
const PairOps& pair_ops() {
  using Pair = std::pair<int64_t, T>;
  static const PairOps ops{
      element_ops<Pair>(),
      [](void* pair, int64_t number) { static_cast<Pair*>(pair)->first = number; },
      [](void* pair) -> void* { return &static_cast<Pair*>(pair)->second; }};
  return ops;
}

// The elements of zip: tuples.
struct TupleOps {
  const ElementOps& tuple;
  void* (*member)(void* tuple, size_t index);
};
template <Element... Ts>
const TupleOps& tuple_ops() {
  using Tuple = std::tuple<Ts...>;
  static const TupleOps ops{element_ops<Tuple>(), [](void* tuple, size_t index) {
                              return std::apply(
                                  [index](Ts&... members) {
                                    void* const all[] = {&members...};
                                    return all[index];
                                  },
                                  *static_cast<Tuple*>(tuple));
                            }};
  return ops;
}

}  // namespace recordpipe::internal
