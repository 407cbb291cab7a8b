#include "dataset/object_store/google/rs256.h"

#include <memory>
#include <new>
#include <span>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "dataset/base/base64.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

// Base64 for URLs (RFC 4648 section 5), without padding.
std::string base64url(std::string_view bytes) {
  std::string text;
  append_base64(text, std::as_bytes(std::span(bytes.data(), bytes.size())));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// An encrypted key is refused. Without this function, OpenSSL would ask on the terminal.
int no_password(char*, int, int, void*) { return -1; }

}  // namespace

std::string signed_jwt(std::string_view claims, const std::string& pem) {
  const auto refuse = [] {
    return Error({.kind = ErrorKind::invalid_argument,
                  .reason = "the service account has no valid RSA key",
                  .hint = "create a new key for it"});
  };
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  if (!bio) throw std::bad_alloc();
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_password, nullptr), &EVP_PKEY_free);
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) throw refuse();
  const std::string text = base64url(R"({"alg":"RS256","typ":"JWT"})") + "." + base64url(claims);
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  size_t size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    throw refuse();
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    throw refuse();
  }
  signature.resize(size);
  return text + "." + base64url(signature);
}

}  // namespace recordpipe
