// Codecs: how elements are encoded in cache files.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// The requirements of a codec. name() identifies the encoding; a cache file with another encoding
// or element type (internal/element_type_name.h) is rejected. encode() appends to `out`. decode()
// receives the same bytes, which stay memory-mapped for the iterator's lifetime, and throws Error
// if the bytes are invalid. Both functions are called as const; decode() must be safe for
// concurrent calls.
template <class C, class T>
concept CacheCodecOf = requires(const C& codec, const T& value, std::string& out,
                                const Record& stored) {
  { codec.name() } -> std::convertible_to<std::string>;
  codec.encode(value, out);
  { codec.decode(stored) } -> std::same_as<T>;
};

// The default codecs: for Records, strings, trivially copyable types, and vectors of these.
template <class T>
struct CacheCodec;

[[noreturn]] inline void fail_decoding(const Record& stored) {
  throw Error({.kind = ErrorKind::corrupted,
               .path = std::string(stored.path),
               .offset = stored.offset,
               .reason = "not an element of this cache's type",
               .hint = "remove the cache"});
}

// Keeps a record's bytes. The decoded record has the path of the cache file and the offset in that
// file.
template <>
struct CacheCodec<Record> {
  std::string name() const { return "record"; }
  void encode(const Record& value, std::string& out) const {
    out.append(reinterpret_cast<const char*>(value.data.data()), value.data.size());
  }
  Record decode(const Record& stored) const { return stored; }
};

template <>
struct CacheCodec<std::string> {
  std::string name() const { return "string"; }
  void encode(const std::string& value, std::string& out) const { out += value; }
  std::string decode(const Record& stored) const {
    return {reinterpret_cast<const char*>(stored.data.data()), stored.data.size()};
  }
};

// Not for pointers and views, which are invalid in another process. (Pointers that are members of a
// struct can't be detected.)
template <class T>
concept CopiedAsBytes =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::ranges::view<T>;

template <CopiedAsBytes T>
struct CacheCodec<T> {
  std::string name() const { return std::to_string(sizeof(T)) + " bytes"; }
  void encode(const T& value, std::string& out) const {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  T decode(const Record& stored) const {
    if (stored.data.size() != sizeof(T)) fail_decoding(stored);
    T value;
    std::memcpy(&value, stored.data.data(), sizeof(T));
    return value;
  }
};

template <CopiedAsBytes V>
struct CacheCodec<std::vector<V>> {
  std::string name() const { return "vector of " + CacheCodec<V>().name(); }
  void encode(const std::vector<V>& values, std::string& out) const {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(V));
  }
  std::vector<V> decode(const Record& stored) const {
    if (stored.data.size() % sizeof(V) != 0) fail_decoding(stored);
    std::vector<V> values(stored.data.size() / sizeof(V));
    if (!values.empty()) std::memcpy(values.data(), stored.data.data(), stored.data.size());
    return values;
  }
};

// Each element is preceded by its length: 8 bytes, little-endian.
template <class V>
requires(!CopiedAsBytes<V>) struct CacheCodec<std::vector<V>> {
  std::string name() const { return "vector of " + CacheCodec<V>().name(); }
  void encode(const std::vector<V>& values, std::string& out) const {
    for (const V& value : values) {
      const size_t start = out.size();
      out.append(kLength, '\0');
      CacheCodec<V>().encode(value, out);
      store_little_endian<uint64_t>(out.size() - start - kLength,
                                    reinterpret_cast<std::byte*>(out.data() + start));
    }
  }
  std::vector<V> decode(const Record& stored) const {
    std::vector<V> values;
    for (std::span<const std::byte> rest = stored.data; !rest.empty();) {
      if (rest.size() < kLength) fail_decoding(stored);
      const auto length = load_little_endian<uint64_t>(rest.data());
      rest = rest.subspan(kLength);
      if (length > rest.size()) fail_decoding(stored);
      Record part = stored;
      part.data = rest.first(length);
      values.push_back(CacheCodec<V>().decode(part));
      rest = rest.subspan(length);
    }
    return values;
  }

 private:
  static constexpr size_t kLength = sizeof(uint64_t);
};

}  // namespace recordpipe
