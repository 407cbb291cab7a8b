// Computes SHA-256 with OpenSSL's EVP interface, which uses the processor's SHA instructions.
#include "recordpipe/io/sha256.h"

#include <new>

#include <openssl/evp.h>

#include "dataset/base/hex.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// OpenSSL fails only if out of memory or if a system policy forbids SHA-256.
void check(int result) {
  if (result != 1) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "OpenSSL can't compute SHA-256",
                 .hint = "check the system's OpenSSL configuration"});
  }
}

EVP_MD_CTX* new_context() {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  if (context == nullptr) throw std::bad_alloc();
  return context;
}

}  // namespace

struct Sha256::Context {
  Context() = default;
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* evp = new_context();
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  check(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&& other) noexcept = default;
Sha256& Sha256::operator=(Sha256&& other) noexcept = default;

void Sha256::update(std::span<const std::byte> data) {
  check(EVP_DigestUpdate(context_->evp, data.data(), data.size()));
}

std::array<std::byte, 32> Sha256::digest() const {
  const Context copy;  // because EVP_DigestFinal_ex ends a context
  check(EVP_MD_CTX_copy_ex(copy.evp, context_->evp));
  std::array<std::byte, 32> digest{};
  check(EVP_DigestFinal_ex(copy.evp, reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

std::string Sha256::hex() const { return recordpipe::hex(digest()); }

std::string parse_sha256(std::string_view text) {
  std::string hex(text);
  bool valid = hex.size() == 64;
  for (char& c : hex) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    valid = valid && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
  }
  if (!valid) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "not a SHA-256 checksum: " + printable(text.substr(0, 80)),
                 .hint = "give its 64 hexadecimal digits, as sha256sum prints them"});
  }
  return hex;
}

}  // namespace recordpipe
