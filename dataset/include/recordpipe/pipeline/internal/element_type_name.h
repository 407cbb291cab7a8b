// Names element types, so that types of the same size can be distinguished.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace recordpipe::internal {

// Returns "point::Point3" for a struct of that name, with both GCC and Clang.
std::string name_of(const std::type_info& type);

// The name is independent of compiler and machine for equal element types: numbers are named by
// their size (int32, uint8, float, double); pairs, tuples, vectors, arrays and optionals by their
// members ("tuple<int32, vector<float>>"); strings "string"; other types by their full C++ name.
// Can't distinguish two types with the same name (in different programs or versions of a program).
template <class T>
struct ElementTypeName {
  static std::string name() {
    if constexpr (std::same_as<T, bool>) return "bool";
    if constexpr (std::same_as<T, char>) return "char";
    if constexpr (std::integral<T>) {
      return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
    }
    return name_of(typeid(T));
  }
};

template <class T>
std::string element_type_name() {
  return ElementTypeName<T>::name();
}

// "tuple<int32, float>"
template <class... Ts>
std::string template_name(std::string name, const Ts&... arguments) {
  const char* separator = "<";
  ((name += std::exchange(separator, ", ") + arguments), ...);
  return name + ">";
}

template <>
struct ElementTypeName<std::string> {
  static std::string name() { return "string"; }
};
template <class V>
struct ElementTypeName<std::vector<V>> {
  static std::string name() { return template_name("vector", element_type_name<V>()); }
};
template <class V, size_t n>
struct ElementTypeName<std::array<V, n>> {
  static std::string name() {
    return template_name("array", element_type_name<V>(), std::to_string(n));
  }
};
template <class V>
struct ElementTypeName<std::optional<V>> {
  static std::string name() { return template_name("optional", element_type_name<V>()); }
};
template <class A, class B>
struct ElementTypeName<std::pair<A, B>> {
  static std::string name() {
    return template_name("pair", element_type_name<A>(), element_type_name<B>());
  }
};
template <class... Ts>
struct ElementTypeName<std::tuple<Ts...>> {
  static std::string name() { return template_name("tuple", element_type_name<Ts>()...); }
};

}  // namespace recordpipe::internal
