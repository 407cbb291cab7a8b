// Bytes of a value for another process of the same version. StateSaver and StateLoader have the
// same members, so that a single function, which is called with either, describes a type:
//
//     void archive(auto& state, Point& point) { state.number(point.x); state.number(point.y); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"

namespace recordpipe {

class StateSaver {
 public:
  static constexpr bool kLoads = false;

  // Integers, booleans and floating-point numbers.
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void number(Number& value) {
    char bytes[sizeof(Number)];
    std::memcpy(bytes, &value, sizeof(Number));
    bytes_.append(bytes, sizeof(Number));
  }
  void text(const std::string& value) {
    count(value.size());
    bytes_ += value;
  }
  // The number of elements that follow.
  size_t count(size_t elements) {
    uint64_t value = elements;
    number(value);
    return elements;
  }
  void require(bool) {}
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class StateLoader {
 public:
  static constexpr bool kLoads = true;

  explicit StateLoader(std::string_view bytes) : left_(bytes) {}

  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void number(Number& value) { std::memcpy(&value, take(sizeof(Number)).data(), sizeof(Number)); }
  void number(bool& value) {
    uint8_t byte = 0;
    number(byte);
    require(byte <= 1);
    value = byte == 1;
  }
  void text(std::string& value) {
    uint64_t size = 0;
    number(size);
    value = take(size);
  }
  // An element has at least one byte, so the number is bounded by the bytes that are left.
  size_t count(size_t) {
    uint64_t elements = 0;
    number(elements);
    require(elements <= left_.size());
    return elements;
  }
  void require(bool holds) {
    if (holds) return;
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = "the state of a survey is damaged, or of another version"});
  }
  void require_end() { require(left_.empty()); }

 private:
  std::string_view take(uint64_t size) {
    require(size <= left_.size());
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::string_view left_;
};

// Functions that every container needs. `one` is called with each element, in its order.
template <typename State, typename Map, typename One>
void archive_map(State& state, Map& map, One one) {
  const size_t size = state.count(map.size());
  if constexpr (State::kLoads) {
    for (size_t i = 0; i < size; ++i) {
      std::string name;
      state.text(name);
      const auto [place, is_new] = map.try_emplace(std::move(name));
      state.require(is_new);
      one(place->second);
    }
  } else {
    for (auto& [name, value] : map) {
      state.text(name);
      one(value);
    }
  }
}

template <typename State, typename Element, typename One>
void archive_vector(State& state, std::vector<Element>& elements, One one) {
  const size_t size = state.count(elements.size());
  if constexpr (State::kLoads) elements.resize(size);
  for (Element& element : elements) one(element);
}

template <typename State, typename Set>
void archive_names(State& state, Set& names) {
  std::vector<std::string> listed(names.begin(), names.end());
  archive_vector(state, listed, [&](std::string& name) { state.text(name); });
  if constexpr (State::kLoads) names = Set(listed.begin(), listed.end());
}

// Where::Seen.
template <typename State, typename Seen>
void archive_seen(State& state, Seen& seen) {
  state.number(seen.any);
  state.number(seen.matched);
  archive_vector(state, seen.kinds, [&](uint8_t& kinds) { state.number(kinds); });
  archive_names(state, seen.names);
  state.number(seen.unknown.count);
  state.text(seen.unknown.why);
  state.number(seen.unknown.number);
  state.text(seen.unknown.path);
}

}  // namespace recordpipe
