// Computes SHA-256 incrementally (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace recordpipe {

// Computes the digest of all bytes passed to update() so far:
//
//   Sha256 hash;
//   while (...) hash.update(piece);
//   if (hash.hex() != expected) ...
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&& other) noexcept;
  Sha256& operator=(Sha256&& other) noexcept;

  void update(std::span<const std::byte> data);
  // digest() and hex() do not change the state: more data may follow.
  std::array<std::byte, 32> digest() const;
  std::string hex() const;  // 64 lower-case hexadecimal digits

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Returns `text`, 64 hexadecimal digits, in lower case, as hex() writes it. Throws
// Error{invalid_argument} for any other text.
std::string parse_sha256(std::string_view text);

}  // namespace recordpipe
